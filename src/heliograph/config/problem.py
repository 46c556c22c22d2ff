"""One thing that is wrong, or doubtful, in a configuration, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """Errors stop a command; warnings and notes are shown and the command goes on."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Problem:
    """What is wrong, where (file, line, key), and what to write instead."""

    severity: Severity
    message: str
    hint: str = ""
    file: str = ""
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        parts = [place, self.severity.value, f"{self.key}: {self.message}" if self.key else self.message]
        text = ": ".join(part for part in parts if part)
        return f"{text} ({self.hint})" if self.hint else text
