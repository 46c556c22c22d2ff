"""The topics of decisions of both clusters, new for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from heliograph.embedded.cluster import EmbeddedCluster
    from tests.control.conflicts.stage import DecisionTopic


@pytest.fixture
def topic(primary: EmbeddedCluster) -> Iterator[DecisionTopic]:
    """A new topic of decisions on the primary cluster."""
    from tests.control.conflicts.stage import decision_topic

    with decision_topic(primary) as topic:
        yield topic
