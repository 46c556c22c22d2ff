"""One deliberate defect."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Defect:
    """A small change that breaks a guarantee, and the tests of which at least one must fail then."""

    name: str
    guarantee: str  # in one sentence: what holds as long as nobody makes this change
    file: str  # under src/heliograph
    before: str  # occurs exactly once in the file
    after: str
    tests: tuple[str, ...]  # pytest's node ids

    def path(self, source: Path) -> Path:
        """The file to change; `source` is the folder of the package."""
        return source / self.file

    def applied_to(self, text: str) -> str:
        """The file's text with the defect; ValueError if the code has changed so that it cannot be made any more."""
        count = text.count(self.before)
        if count != 1:
            raise ValueError(f"{self.file} has the text to change {count} times, not once")
        changed = text.replace(self.before, self.after)
        try:
            is_same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
        except SyntaxError as error:
            raise ValueError(f"{self.file} cannot be compiled any more: {error}") from None
        if is_same:
            raise ValueError(f"{self.file} means the same as before")
        return changed
