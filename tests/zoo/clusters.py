"""Two real clusters, shared by all tests of a run. Test modules name this file in `pytest_plugins`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, running_clusters
from tests.zoo.stations import Stations

# The cleaner looks for work every 15 s unless told otherwise; transaction markers of one broker need no more partitions.
_SETTINGS = {"log.cleaner.backoff.ms": "100", "transaction.state.log.num.partitions": "4"}


@pytest.fixture(scope="session")
def stations() -> Iterator[Stations]:
    """A source and a target cluster of one broker each."""
    specs = (ClusterSpec("primary", settings=_SETTINGS), ClusterSpec("backup", settings=_SETTINGS))
    with running_clusters(*specs) as (source, target):
        yield Stations(source.bootstrap_servers, target.bootstrap_servers)
