"""Runs of records as they grow while a transaction is filled."""

from __future__ import annotations

from heliograph.model import Run


def add_run(runs: list[Run], source: int, target: int, length: int) -> None:
    """Note records that went from these source offsets to these target offsets; joined to the last run if they fit."""
    if runs:
        last = runs[-1]
        if last.source + last.length == source and last.target + last.length == target:
            runs[-1] = Run(last.source, last.target, last.length + length)
            return
    runs.append(Run(source, target, length))
