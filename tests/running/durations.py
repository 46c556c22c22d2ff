"""How long tests take: written by every run, and kept in `tests/durations.json` so that runs can be planned."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_KEPT = Path(__file__).parents[1] / "durations.json"
_WORTH_A_LINE = 0.5


def write(file: Path, seconds: Mapping[str, float]) -> None:
    """Seconds of each module, and of each test that takes long enough to be of interest; the longest first."""
    modules: dict[str, float] = defaultdict(float)
    for test, taken in seconds.items():
        modules[test.partition("::")[0]] += taken
    file.parent.mkdir(parents=True, exist_ok=True)
    found = {"modules": _longest_first(modules), "tests": _longest_first(seconds)}
    file.write_text(json.dumps(found, indent=1) + "\n")


def known() -> Mapping[str, float]:
    """The seconds of each module when they were kept last."""
    found: Mapping[str, float] = json.loads(_KEPT.read_text())["modules"] if _KEPT.exists() else {}
    return found


def _longest_first(seconds: Mapping[str, float]) -> dict[str, float]:
    chosen = {name: round(taken, 1) for name, taken in seconds.items() if taken >= _WORTH_A_LINE}
    return dict(sorted(chosen.items(), key=lambda item: -item[1]))
