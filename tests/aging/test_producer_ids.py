"""Who has written for a flow for years is known in time, also to a flow that goes the other way with the same names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from heliograph.control.producer_pages import ProducerPages
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka import reading
from heliograph.ledger.writers import KnownWriters
from heliograph.model import TopicPartition
from tests.aging.aged_flow import single_ids
from tests.aging.logs import in_a_row, lay_down
from tests.chaos.forms import LONG
from tests.chaos.outages import SOON_MISSED, bring_back
from tests.control.test_standing import flow_to
from tests.zoo import raw

pytestmark = pytest.mark.kafka

_PACKING_SECONDS, _READING_SECONDS = 60, 5
_MOST_BYTES_OF_AN_ID = 2.5


@pytest.fixture
def spare() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("spare", settings=SOON_MISSED)) as (cluster,):
        yield cluster


@pytest.mark.parametrize("count", [pytest.param(10_000, id="short"), pytest.param(200_000, id="long", marks=LONG)])
def test_the_producer_ids_of_a_year_are_packed_and_read_in_time(
    spare: EmbeddedCluster, count: int, record_property: Callable[[str, object], None]
) -> None:
    """As an earlier version has left them: each in a record of its own."""
    flow = flow_to(spare.bootstrap_servers)
    state, ids = flow.settings.topics.state, range(4_000_000_000, 4_000_000_000 + 3 * count, 3)
    spare.brokers[0].process.kill()
    lay_down(spare, TopicPartition(state, 0), in_a_row(single_ids(ids, int(time.time() * 1000))))
    bring_back(spare)

    began = time.monotonic()
    assert ProducerPages(flow).pack() == f"{count} producer ids packed"
    packing = time.monotonic() - began
    with raw.network(spare.bootstrap_servers, state) as (loop, network):
        newest: dict[bytes, bytes] = {}
        for _, record in reading.read_to_end(loop, network, state, {0: count}):  # behind what compaction removes
            newest[record.key or b""] = record.value or b""
        began = time.monotonic()
        pages, packed = KnownWriters(), len([value for value in newest.values() if value])
        for _, record in reading.read_to_end(loop, network, state, {0: count}):
            if record.value:
                pages._take_in(state, record)
        seconds = time.monotonic() - began
    size = sum(len(key) + len(value) for key, value in newest.items() if value)
    record_property("told", f"{count:,} ids: packed in {packing:.1f} s into {packed} pages of {size:,} bytes, "
                            f"read in {seconds:.1f} s")  # fmt: skip
    assert pages.ids == set(ids)
    assert packed == count // 1_000
    assert size < count * _MOST_BYTES_OF_AN_ID
    assert packing < _PACKING_SECONDS
    assert seconds < _READING_SECONDS
