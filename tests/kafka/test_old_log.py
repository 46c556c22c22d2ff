"""A log with messages of all formats, read from a broker that keeps them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka import reading, records
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.model import TopicPartition
from heliograph.recovery.verification.log_reader import LogReader
from tests.waiting import wait_until
from tests.zoo import handmade, raw
from tests.zoo.old_log import plant
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction

pytestmark = pytest.mark.kafka

GZIP, SNAPPY = 1, 2
# Ten messages of format 1, five of format 1 in one, four of format 0, three of format 0 in one, two of today.
OLD = b"".join(
    (
        handmade.old_log(1, 0, 10),
        handmade.old_log(1, 10, 5, GZIP),
        handmade.old_log(0, 15, 4),
        handmade.old_log(0, 19, 3, SNAPPY),
        handmade.data(22, 2, leader_epoch=0),
    )
)
END = 24


@pytest.fixture(scope="module")
def old(where: TopicPartition) -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("old")) as [cluster]:
        create_topic(cluster.bootstrap_servers, where.topic)
        plant(cluster, where, OLD)
        yield cluster


@pytest.fixture(scope="module")
def where() -> TopicPartition:
    return TopicPartition(fresh_name("old"), 0)


@pytest.fixture
def connected(old: EmbeddedCluster, where: TopicPartition) -> Iterator[raw.Connected]:
    with raw.network(old.bootstrap_servers, where.topic) as opened:
        yield opened


@pytest.mark.parametrize("start", [0, 7, 12, 16, 20, 23])
def test_every_record_is_read_from_wherever_reading_begins(
    connected: raw.Connected, where: TopicPartition, start: int
) -> None:
    found = [record for _, record in reading.read_to_end(*connected, where.topic, {0: start}) if record.offset < END]
    assert [(record.offset, record.value) for record in found] == [(i, b"v%d" % i) for i in range(start, END)]


def test_batches_tell_the_offsets_that_they_span(connected: raw.Connected, where: TopicPartition) -> None:
    found = reading.read_batches(*connected, where.topic, {0: 0}, {0: END})
    spans = [(batch.header.base_offset, batch.header.last_offset) for batch in found]
    singles = [*range(10), *range(15, 19)]
    assert spans == sorted([*((i, i) for i in singles), (10, 14), (19, 21), (22, 23)])


def test_verification_reads_the_same(connected: raw.Connected, where: TopicPartition) -> None:
    reader = LogReader(*connected, where, 0, END)
    found = [record.offset for batch in reader.batches() for record in records.decode(batch.magic, batch.data)]
    assert found == list(range(END))


def stable_end(connected: raw.Connected, where: TopicPartition) -> int:
    return reading.list_offsets(connected[1], where.topic, {0: reading.LATEST}, READ_COMMITTED)[0]


def test_whoever_looks_for_markers_gets_past_old_messages(connected: raw.Connected, where: TopicPartition) -> None:
    transaction = RawTransaction(connected, f"after-{where}", where)
    transaction.write(3, 100)
    transaction.end(commit=True)
    marker_at = END + 3
    wait_until(lambda: stable_end(connected, where) == marker_at + 1, "the end of the transaction")
    span = {0: 0}, {0: marker_at + 1}
    found = list(reading.read_log(*connected, where.topic, *span, isolation=READ_UNCOMMITTED))
    assert [(batch.header.is_control, batch.is_hidden) for batch in found][-3:] == [
        (False, False), (False, False), (True, True),
    ]  # fmt: skip
