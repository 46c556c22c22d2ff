"""One thing that was looked at, and what is to be thought of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    """How good or bad it is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Observation:
    """What was seen, and what to do where it is not as it should be."""

    subject: str
    verdict: Verdict
    seen: str
    advice: str = ""


def is_well(observations: Iterable[Observation]) -> bool:
    """Whether nothing has failed; warnings are no failure."""
    return all(observation.verdict is not Verdict.FAILED for observation in observations)
