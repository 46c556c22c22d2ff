"""Where the clusters of a test are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stations:
    """The addresses of a source and a target."""

    source: str
    target: str
