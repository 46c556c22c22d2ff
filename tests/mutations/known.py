"""What earlier runs have found out about the same code: a run that was interrupted is continued from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutations.defect import Defect
from tests.mutations.trial import Result, Verdict


@dataclass
class Known:
    """Tests that pass without a defect, and defects that were caught: one line of JSON each, written at once.

    Nothing else is kept. Whatever was not caught is judged again.
    """

    file: Path
    _sound: set[str] = field(default_factory=set)
    _caught: dict[str, tuple[float, tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for line in self.file.read_text().splitlines() if self.file.exists() else ():
            self._learn(line)

    def _learn(self, line: str) -> None:
        try:
            found = json.loads(line)
        except ValueError:
            return  # the run ended while it wrote this line
        if "sound" in found:
            self._sound.update(found["sound"])
        else:
            self._caught[found["caught"]] = (found["seconds"], tuple(found["by"]))

    def forget(self) -> None:
        """Begin from the start."""
        self.file.unlink(missing_ok=True)
        self._sound.clear()
        self._caught.clear()

    def judge_again(self, defects: Iterable[Defect]) -> None:
        """Judge these, whatever is known of them."""
        for defect in defects:
            self._caught.pop(_name(defect), None)

    def is_sound(self, test: str) -> bool:
        """Whether a test has passed without a defect."""
        return test in self._sound

    def add_sound(self, tests: Iterable[str]) -> None:
        """These tests have passed without a defect."""
        found = list(tests)
        self._sound.update(found)
        self._write({"sound": found})

    def result(self, defect: Defect) -> Result | None:
        """How a defect was caught; None if it has to be judged."""
        if not (found := self._caught.get(_name(defect))):
            return None
        seconds, by = found
        return Result(defect, Verdict.CAUGHT, seconds, by)

    def add(self, result: Result) -> None:
        """Keep a defect that was caught."""
        if result.verdict is Verdict.CAUGHT:
            self._caught[_name(result.defect)] = (result.seconds, result.by)
            self._write({"caught": _name(result.defect), "seconds": result.seconds, "by": result.by})

    def _write(self, found: dict[str, object]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as lines:
            lines.write(json.dumps(found) + "\n")


def _name(defect: Defect) -> str:
    """A defect that was changed in any way is another one."""
    return f"{defect.name} {hashlib.sha256(repr(defect).encode()).hexdigest()[:16]}"
