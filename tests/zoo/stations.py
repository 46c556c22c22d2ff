"""Where the clusters of a test are."""

from __future__ import annotations

from typing import NamedTuple

from heliograph.embedded.cluster import EmbeddedCluster


class Stations(NamedTuple):
    """The addresses of a source and a target."""

    source: str
    target: str

    @classmethod
    def of(cls, pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Stations:
        """The addresses of two running clusters."""
        return cls(pair[0].bootstrap_servers, pair[1].bootstrap_servers)
