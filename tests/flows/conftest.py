"""A cluster that several modules may harm."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from tests.chaos.outages import SOON_MISSED


@pytest.fixture(scope="package")
def spare() -> Iterator[EmbeddedCluster]:
    """A third cluster, whose broker a test may kill, if it brings it back."""
    with running_clusters(ClusterSpec("spare", settings=SOON_MISSED)) as (cluster,):
        yield cluster
