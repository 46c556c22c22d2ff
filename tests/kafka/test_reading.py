from __future__ import annotations

import time

import pytest

from bench.wan_relay import Link
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused, BrokerUnavailable, MalformedRecord
from heliograph.kafka import batches, reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.engine.links import behind
from tests.zoo import handmade, raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import abort_open, leave_open, write_interleaved, write_transactions

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(primary: EmbeddedCluster) -> str:
    return create_topic(primary.bootstrap_servers, fresh_name("reading"), partitions=3)


def values(
    primary: EmbeddedCluster, topic: str, starts: dict[int, int], patience: float = 30
) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    with raw.network(primary.bootstrap_servers, topic) as (loop, network):
        for partition, record in reading.read_to_end(loop, network, topic, starts, patience):
            found.setdefault(partition, []).append(record.value or b"")
    return found


def numbers(first: int, count: int) -> list[bytes]:
    return [record.value or b"" for record in numbered(count, first)]


def test_offsets_are_found_for_the_ends_and_for_times(primary: EmbeddedCluster, topic: str) -> None:
    raw.append(primary.bootstrap_servers, TopicPartition(topic, 1), [raw.batch_of(numbered(10))])
    with raw.network(primary.bootstrap_servers, topic) as (_, network):
        asked = {0: LATEST, 1: LATEST, 2: EARLIEST}
        assert reading.list_offsets(network, topic, asked) == {0: 0, 1: 10, 2: 0}
        assert reading.list_offsets(network, topic, {1: handmade.TIME + 4, 0: handmade.TIME}) == {1: 4, 0: -1}


def test_each_partition_is_read_from_its_start_to_its_end(primary: EmbeddedCluster, topic: str) -> None:
    for partition in (0, 2):
        where = TopicPartition(topic, partition)
        raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(10)), raw.batch_of(numbered(10, 10))])
    assert values(primary, topic, {0: 0, 1: 0, 2: 15}) == {0: numbers(0, 20), 2: numbers(15, 5)}
    assert values(primary, topic, {0: 20}) == {}


def test_only_committed_records_are_read(primary: EmbeddedCluster, topic: str) -> None:
    where = TopicPartition(topic, 0)
    committed = write_transactions(primary.bootstrap_servers, where, count=6, size=5)
    write_interleaved(primary.bootstrap_servers, where)
    found = values(primary, topic, {0: 0})[0]
    assert len(found) == committed + 4 * 7 + 1 + 4
    assert not any(value.startswith((b"1/", b"4/", b"value-2000")) for value in found)


def test_an_open_transaction_is_named_when_patience_ends_and_read_past_when_it_does(
    primary: EmbeddedCluster, topic: str
) -> None:
    where = TopicPartition(topic, 0)
    raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(2))])
    name = leave_open(primary.bootstrap_servers, where, count=3)
    raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(2, 2))])
    with pytest.raises(BrokerUnavailable, match="open transaction hides offset 2"):
        values(primary, topic, {0: 0}, patience=0.3)
    abort_open(primary.bootstrap_servers, name)
    assert values(primary, topic, {0: 0}) == {0: numbers(0, 4)}


def test_a_read_that_goes_on_has_all_the_time_that_it_needs(primary: EmbeddedCluster, topic: str) -> None:
    large = Record(0, handmade.TIME, None, bytes(900_000))
    raw.append(primary.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of([large]) for _ in range(8)])
    assert len(values(primary, topic, {0: 0}, patience=0)[0]) == 8  # they do not fit into one answer


def test_a_whole_read_can_be_limited_even_if_it_goes_on(primary: EmbeddedCluster, topic: str) -> None:
    raw.append(primary.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of(numbered(2))])
    told = f"{topic}-0: was read up to offset 0 in 0.0 s, which is too slow"
    with raw.network(primary.bootstrap_servers, topic) as connected, pytest.raises(BrokerUnavailable, match=told):
        list(reading.read_to_end(*connected, topic, {0: 0}, limit=0.0))


def test_silence_is_not_put_down_to_transactions_when_there_are_none(primary: EmbeddedCluster, topic: str) -> None:
    raw.append(primary.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of(numbered(2))])
    leave_open(primary.bootstrap_servers, TopicPartition(topic, 1), count=3)
    told = f"{topic}-0: the broker gives nothing from offset 2 on"
    with raw.network(primary.bootstrap_servers, topic) as connected, pytest.raises(BrokerUnavailable, match=told):
        list(reading.read_batches(*connected, topic, {0: 0}, {0: 5}, patience=0.3))


def test_a_start_beyond_the_beginning_of_the_log_is_refused(primary: EmbeddedCluster, topic: str) -> None:
    raw.append(primary.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of(numbered(2))])
    with pytest.raises(BrokerRefused):
        values(primary, topic, {0: -5})


def test_a_batch_with_an_impossible_length_is_named(primary: EmbeddedCluster, topic: str) -> None:
    where = TopicPartition(topic, 0)
    raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(2)), raw.batch_of(numbered(2))])
    log = primary.brokers[0].spec.folder / "data" / str(where) / "00000000000000000000.log"
    content = log.read_bytes()
    second = next(len(batch) for _, batch in batches.split(memoryview(content)))
    with open(log, "r+b") as file:
        file.seek(second + 8)
        file.write((-12).to_bytes(4, "big", signed=True))
    with pytest.raises(MalformedRecord, match=f"{where}: the batch at offset 2 says that it has -12 bytes"):
        values(primary, topic, {0: 0})


# -- slow links --------------------------------------------------------------------------------------------------------


def test_an_answer_may_take_long_as_long_as_it_comes(primary: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = primary.bootstrap_servers
    where = TopicPartition(create_topic(servers, fresh_name("slow")), 0)
    raw.append(servers, where, [raw.batch_of(numbered(10, 10 * index, 10_000)) for index in range(7)])
    quick = Access("primary", servers.split(","), request_timeout_ms=1500)
    link = Link.of(round_trip_ms=2, megabits=1.6)
    with behind(link, servers, monkeypatch), opened(quick, [where.topic]) as (loop, network):
        began = time.monotonic()
        found = [record for _, record in reading.read_to_end(loop, network, where.topic, {0: 0})]
        seconds = time.monotonic() - began
    assert len(found) == 70
    assert seconds > 2.0, "of 1.5 seconds that a broker has until it begins to answer"
