"""The answer of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.checker.finding import Finding

_SHOWN = 20


@dataclass(frozen=True)
class Report:
    """Every difference that was found, in order, and how many source records were looked at."""

    findings: Sequence[Finding]
    record_count: int

    @property
    def is_equal(self) -> bool:
        """Whether both sides hold the same records."""
        return not self.findings

    def __str__(self) -> str:
        if self.is_equal:
            return f"equal: {self.record_count} records"
        lines = [str(finding) for finding in self.findings[:_SHOWN]]
        hidden = len(self.findings) - len(lines)
        return "\n".join(
            [
                f"{len(self.findings)} differences in {self.record_count} records",
                *lines,
                *([f"and {hidden} more"] if hidden else []),
            ]
        )
