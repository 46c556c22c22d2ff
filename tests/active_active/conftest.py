"""The topic that all detection on a cluster shares: these tests begin without it, and leave none behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.conflicts import decision
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import admin_of
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def decisions(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[None]:
    """Nothing of other tests is in it, and others find none."""
    _remove(cluster_pair)
    yield
    _remove(cluster_pair)


def _remove(clusters: tuple[EmbeddedCluster, ...]) -> None:
    for cluster in clusters:
        with admin_of(cluster) as admin:
            admin.delete_topics([decision.TOPIC])
            wait_until(lambda admin=admin: not admin.topics([decision.TOPIC]), f"{decision.TOPIC} to be gone")
