"""Two real clusters for every test that wants them, started once for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from heliograph.embedded.cluster import EmbeddedCluster


@pytest.fixture(scope="session")
def cluster_pair() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Two clusters of one broker each. They are shared: a test uses topic names of its own."""
    from heliograph.embedded.cluster import ClusterSpec, running_clusters

    # Many tests fetch: with the usual thousand sessions the broker would refuse to remember those of later ones.
    settings = {"max.incremental.fetch.session.cache.slots": "100000"}
    specs = [ClusterSpec(alias, settings=settings) for alias in ("primary", "backup")]
    with running_clusters(*specs) as (primary, backup):
        yield primary, backup


@pytest.fixture(scope="session")
def primary(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """The cluster that tests mirror from."""
    return cluster_pair[0]


@pytest.fixture(scope="session")
def backup(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """The cluster that tests mirror to."""
    return cluster_pair[1]
