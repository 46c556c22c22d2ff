"""Records of other tools are told by a header, and what our own flows wrote by the ids in their ledgers."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import closing
from uuid import UUID

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.copying import CopyRules
from heliograph.engine.provenance import HeaderRule, Provenance, TopicProvenance
from heliograph.engine.tables.columns import Gathered
from heliograph.engine.tables.partition_read import PartitionRead
from heliograph.kafka import records
from heliograph.kafka.access import Access
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.model import Assignment, LeftOut, Run, TopicPartition
from heliograph.transforms.message import Message
from tests.engine import test_copying, test_transformed_copy
from tests.engine.ward import Ward
from tests.zoo import raw
from tests.zoo.internal_topics import announce, create_all, fresh_names
from tests.zoo.odd_records import numbered

HEADER = "x-from"
RULES = CopyRules(TopicProvenance(header=HeaderRule(HEADER, ["west", "north"])))
HERE, THERE = TopicPartition("orders", 0), TopicPartition("orders", 0)
LARGE = 5_000


def item(offset: int, origin: str = "", header: str = HEADER) -> Record:
    headers = [("trace", b"1"), (header, origin.encode())] if origin else []
    return Record(offset, 1_000 + offset, None, b"v%d" % offset + b"." * LARGE, headers)


def batch(*items: Record, compression: int = 0) -> bytes:
    """A batch of records that keep their offsets; consecutive ones, if it is compressed."""
    if not compression:
        return bytes(records.encode_apart(items))
    data = records.encode(items, compression=compression)
    data[:8] = items[0].offset.to_bytes(8, "big")
    return bytes(data)


@pytest.mark.parametrize("codec", range(5), ids=["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_that_came_from_the_target_are_left_out_whatever_the_codec(codec: int) -> None:
    bench = test_copying.Bench(rules=RULES)
    mixed = batch(item(0), item(1, "west"), item(2, "east"), item(3, "north"), compression=codec)
    bench.accept(mixed, batch(item(4, "west"), compression=codec), batch(item(5, "west.orders"), compression=codec))
    assert bench.numbers() == [[0, 2], [5]]
    bench.append(100)
    bench.append(102)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset) == ((Run(0, 100, 1), Run(2, 101, 1), Run(5, 102, 1)), 5)


def test_a_tail_that_is_left_out_moves_the_position() -> None:
    bench = test_copying.Bench(rules=RULES)
    bench.accept(batch(item(0, "west"), item(1, "west")))
    assert bench.queued() == []
    assert bench.copy.has_moved
    _, position = bench.copy.take_progress()
    assert position.offset == 1


def test_other_batches_leave_as_they_came() -> None:
    """Also those that hold the header's name in a value, or under a value that does not count."""
    bench = test_copying.Bench(rules=RULES)
    named = Record(2, 5, None, b"x-from west" + b"." * LARGE)
    assert bench.accept(batch(item(0)), batch(item(1, "east")), batch(named), batch(item(3, "west", "other"))) == 4


def test_without_a_header_nothing_is_left_out() -> None:
    bench = test_copying.Bench()
    assert bench.accept(batch(item(0, "west"))) == 1


def test_small_batches_are_looked_at_before_they_are_joined() -> None:
    bench = test_copying.Bench(rules=RULES)
    small = [Record(number, 5, None, b"v%d" % number, [(HEADER, b"west")] if number % 2 else []) for number in range(6)]
    bench.accept(*(batch(record) for record in small))
    assert [number for some in bench.numbers() for number in some] == [0, 2, 4]


def test_transforms_do_not_see_what_is_left_out() -> None:
    seen: list[int] = []

    def note(message: Message, number: int) -> Message:
        seen.append(number)
        return test_transformed_copy.changed(message, number) if number < 3 else message

    bench = test_transformed_copy.Bench(note, rules=RULES)
    bench.accept(
        batch(item(0), item(1, "west")), batch(item(2)), batch(item(3), item(4, "west")), batch(item(5, "west"))
    )
    assert seen == [0, 2, 3]
    assert [record.offset for some in bench.queued() for record in some] == [0, 1, 0]
    bench.append()
    [progress], position = bench.copy.take_progress()
    assert [(run.source, run.length) for run in progress.runs] == [(0, 1), (2, 2)]
    assert position.offset == 5
    assert progress.dropped == 0


def test_queries_do_not_see_what_is_left_out() -> None:
    point = FetchPoint("orders", UUID(int=9), 0, 0)
    read = PartitionRead(Assignment(HERE, THERE), 0, point, 4, True, RULES.provenance)
    data = memoryview(batch(item(0), item(1, "west")) + batch(item(2, "west"), item(3, "west")))
    rows = Gathered()
    read.accept(Fetched(point, 0, 4, 4, 0, None, -1, (), data), rows)
    assert rows.take().column("offset").to_pylist() == [0]
    assert (read.covered().end, read.is_done) == (4, True)


@pytest.mark.kafka
def test_each_flow_counts_where_it_is_named(primary: EmbeddedCluster) -> None:
    """Also one that begins after the first look."""
    servers = primary.bootstrap_servers
    one, two, late = fresh_names(), fresh_names(), fresh_names()
    access = Access("here", servers.split(","))
    announce(servers, create_all(servers, one), 11)
    announce(servers, create_all(servers, two), 22)
    with closing(Loop()) as loop:
        provenance = Provenance(loop, Network(loop, access))
        both = provenance.of(LeftOut(frozenset({one, two, late})))
        first = provenance.of(LeftOut(frozenset({one})))
        assert [both.is_mirrored(number) for number in (11, 22, 33, -1)] == [True, True, False, False]
        assert [first.is_mirrored(number) for number in (11, 22, -1)] == [True, False, False]
        announce(servers, create_all(servers, late), 44)
        announce(servers, one, 55)
        assert [both.is_mirrored(number) for number in (44, 55, 66)] == [True, True, False]
        assert not provenance.of(LeftOut()).is_mirrored(11)


@pytest.mark.kafka
def test_however_many_producers_an_answer_brings_they_are_looked_up_at_once(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = ward.stations.source
    names = create_all(servers)
    announce(servers, names, 70_001, 70_003)
    pieces = [raw.batch_of(numbered(1, n), stamp=ProducerStamp(70_000 + n, 0, False), sequence=0) for n in range(60)]
    raw.append(servers, ward.bad, pieces)
    looks: list[float] = []
    original = Network.look_up

    def look_up(network: Network, topics: Collection[str]) -> dict[str, int]:
        if names.state in topics:
            looks.append(time.monotonic())
        return original(network, topics)

    monkeypatch.setattr(Network, "look_up", look_up)
    with ward.lane_walk(plan=ward.plan(left_out={ward.bad.topic: LeftOut(frozenset({names}))})) as walk:
        walk.until_copied({ward.bad: 70})
    assert ward.copied(ward.bad) == [*range(10), 0, 2, *range(4, 60)]
    assert len(looks) < 10
