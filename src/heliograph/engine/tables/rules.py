"""What a flow with SQL does, beside what every flow does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SqlRules:
    """The query that all records of a flow pass through, and how much of them at a time."""

    sql: str
    batch_seconds: float = 4.0  # how long the lanes of one micro-batch read while there is more to read
    look_seconds: float = 0.2  # between two looks for new records
