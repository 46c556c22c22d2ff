"""The topic that all detection on a cluster shares is removed when these tests are over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.conflicts import decision
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import admin_of


@pytest.fixture(scope="module", autouse=True)
def decisions(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[None]:
    """Leave the shared clusters as they were found."""
    yield
    for cluster in cluster_pair:
        with admin_of(cluster) as admin:
            admin.delete_topics([decision.TOPIC])
