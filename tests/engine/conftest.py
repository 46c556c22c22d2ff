"""Clusters made ready for lanes, and mirrors on them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.settings import LaneSettings
from heliograph.model import TopicPartition
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import OFFSETS_PARTITIONS, TOPICS, MakeMirror, Mirror
from tests.engine.ward import Ward, WardStock
from tests.zoo.internal_topics import create_all
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name


@pytest.fixture(autouse=True)
def way_to_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With HELIOGRAPH_COMMIT=sequences lanes of this process write without transactions, where that is possible."""
    if os.environ.get("HELIOGRAPH_COMMIT") == "sequences":
        possible = property(lambda settings: settings.is_exactly_once and not settings.transforms.chain.is_active)
        monkeypatch.setattr(LaneSettings, "commits_by_sequences", possible)


@pytest.fixture(scope="module")
def prepared(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Stations:
    """The clusters with the internal topics of a flow on the target."""
    stations = Stations.of(cluster_pair)
    create_all(stations.target, TOPICS, OFFSETS_PARTITIONS)
    return stations


@pytest.fixture
def make_mirror(prepared: Stations) -> MakeMirror:
    """Make a source topic and its copy; or only the copy, of a source that exists already."""

    def make(partitions: int = 1, source: str | None = None, settings: dict[str, str] | None = None) -> Mirror:
        name = source or create_topic(prepared.source, fresh_name("zoo"), partitions, settings)
        copy = create_topic(prepared.target, f"primary.{name}", partitions)
        pairs = {TopicPartition(name, p): TopicPartition(copy, p) for p in range(partitions)}
        return Mirror(prepared, pairs, f"lane-of-{name}")

    return make


@pytest.fixture(scope="module")
def copies(prepared: Stations) -> Iterator[CommittedReader]:
    """Reads what has arrived on the target."""
    with CommittedReader(prepared.target) as made:
        yield made


@pytest.fixture(scope="module")
def ward_stock(prepared: Stations, copies: CommittedReader) -> WardStock:
    """Wards of which nobody has used any yet."""
    return WardStock(prepared, copies)


@pytest.fixture
def ward(ward_stock: WardStock) -> Ward:
    """Two topics, of which ten records each are mirrored."""
    return ward_stock.take()
