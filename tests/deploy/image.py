"""The Dockerfile, taken apart: there is no container engine where tests run."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "docker"
ENTRYPOINT, HEALTHCHECK = FOLDER / "entrypoint", FOLDER / "healthcheck"


def instructions() -> list[tuple[str, str]]:
    """Every instruction and the rest of its line; continued lines are joined, comments left out."""
    lines = [line for line in (FOLDER / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = (line.partition(" ") for line in joined.splitlines() if line.strip())
    return [(name, rest.strip()) for name, _, rest in found]


def last_stage() -> list[tuple[str, str]]:
    """What makes the image itself."""
    all_of_them = instructions()
    begin = max(number for number, (name, _) in enumerate(all_of_them) if name == "FROM")
    return all_of_them[begin:]


def rest_of(name: str) -> str:
    """What stands behind the last instruction of a name in the image's own stage."""
    return [rest for found, rest in last_stage() if found == name][-1]


def variables() -> dict[str, str]:
    """The environment that the image sets."""
    return dict(rest.split("=", 1) for name, rest in last_stage() if name == "ENV")


def copied() -> list[str]:
    """What is copied from the clone, in any stage."""
    rests = (rest.split() for name, rest in instructions() if name == "COPY" and "--from=" not in rest)
    return [source for words in rests for source in words[:-1] if not source.startswith("--")]


def command(name: str) -> list[str]:
    """The words of an instruction in JSON's form, such as ENTRYPOINT."""
    words: list[str] = json.loads(rest_of(name)[rest_of(name).index("[") :])
    return words
