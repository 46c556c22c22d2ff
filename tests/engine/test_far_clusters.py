"""Clusters behind a long link: enough is under way at any time, and the copy is what it always is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from bench.wan_relay import Link
from heliograph.engine import outgoing, source_broker
from heliograph.engine.incoming import Incoming
from heliograph.engine.outgoing import Outgoing
from heliograph.kafka import batches
from heliograph.kafka.fetching import FetchLimits, FetchPoint
from tests.engine.lane_bench import MakeMirror, Mirror
from tests.engine.links import behind
from tests.zoo import raw
from tests.zoo.odd_records import numbered

pytestmark = pytest.mark.kafka

PARTITIONS, BATCHES = 4, 40
ALL_READ = dict.fromkeys(range(PARTITIONS), BATCHES)
LINK = Link.of(round_trip_ms=100, megabits=8000)
PASSED_ON = 5_000  # bytes of a record that makes a batch too large to be joined with others
SMALL_ANSWERS = FetchLimits(max_wait_ms=50, max_bytes=4 * 2 * PASSED_ON, partition_max_bytes=2 * PASSED_ON)

Far = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> Far:
    """Moves the broker at an address far away from everyone who connects meanwhile."""

    return lambda address: behind(LINK, address, monkeypatch)


@contextmanager
def reader_of(mirror: Mirror) -> Iterator[Incoming]:
    """Somebody who reads all source partitions of a mirror."""
    [topic] = {source.topic for source in mirror.pairs}
    with raw.network(mirror.stations.source, topic) as (_, network):
        reader = Incoming(network, SMALL_ANSWERS)
        for number in range(PARTITIONS):
            reader.read(FetchPoint(topic, network.topic_id(topic), number, 0))
        yield reader


def asked_for(reader: Incoming) -> list[list[int]]:
    """The partitions that each line has asked for and has no answer about."""
    return sorted(
        sorted(point.partition for point in line.session.points)
        for line in reader._lines()
        if line._is_busy and not line.is_lost
    )


def take_answers(reader: Incoming) -> None:
    """Ask, and move on behind all that has been answered."""
    reader.fetch()
    reader._network.loop.run_once(0.05)
    while reader.arrivals:
        arrival = reader.arrivals.popleft()
        for fetched in arrival.result.partitions:
            assert not fetched.error_code
            for _, batch in batches.split(fetched.records):
                header = batches.read_header(batch)
                assert header.base_offset == fetched.point.offset, "read twice, or not at all"
                fetched.point.offset = header.last_offset + 1
            arrival.broker.session.moved(fetched.point)
        arrival.broker.looked_at(arrival)


def read_to(reader: Incoming) -> dict[int, int]:
    """How far each partition has been read."""
    return {point.partition: point.offset for line in reader._lines() for point in line.session.points}


def test_a_near_broker_is_asked_for_everything_at_once(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_broker, "_FAR_SECONDS", 10.0)  # a busy machine answers late too
    mirror = fed(make_mirror(PARTITIONS))
    with reader_of(mirror) as reader:
        while read_to(reader) != ALL_READ:
            take_answers(reader)
        reader.fetch()
        assert asked_for(reader) == [[0, 1, 2, 3]]


def test_a_far_broker_that_sends_much_has_several_requests_before_it_has_answered_one(
    make_mirror: MakeMirror, far: Far
) -> None:
    mirror = fed(make_mirror(PARTITIONS))
    most = 0
    with far(mirror.stations.source), reader_of(mirror) as reader:
        while read_to(reader) != ALL_READ:
            take_answers(reader)
            reader.fetch()
            most = max(most, len(asked_for(reader)))
    assert most == 3


def test_a_far_broker_that_sends_little_is_asked_for_everything_at_once(make_mirror: MakeMirror, far: Far) -> None:
    mirror = make_mirror(PARTITIONS)
    mirror.write([numbered(1)])
    with far(mirror.stations.source), reader_of(mirror) as reader:
        while read_to(reader)[0] == 0:
            take_answers(reader)
        reader.fetch()
        assert asked_for(reader) == [[0, 1, 2, 3]]


def test_partitions_of_lost_lines_are_read_on(make_mirror: MakeMirror, far: Far) -> None:
    mirror = fed(make_mirror(PARTITIONS))
    with ExitStack() as stack:
        with far(mirror.stations.source):
            reader = stack.enter_context(reader_of(mirror))
            while len(list(reader._lines())) < 3:
                take_answers(reader)
        while read_to(reader) != ALL_READ:  # the broker is near now
            take_answers(reader)


def test_a_far_source_is_mirrored_completely(make_mirror: MakeMirror, far: Far) -> None:
    mirror = fed(make_mirror(PARTITIONS))
    with far(mirror.stations.source):
        mirror.copy_all()
    mirror.assert_equal(at_least=PARTITIONS * BATCHES)


def test_a_far_target_gets_many_small_requests_at_once(
    make_mirror: MakeMirror, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = fed(make_mirror(PARTITIONS))
    most = 0
    send_request = Outgoing._send_request

    def count(sender: Outgoing, broker_id: int, most_runs: float) -> None:
        nonlocal most
        send_request(sender, broker_id, most_runs)
        most = max(most, len(sender._in_flight[broker_id]))

    monkeypatch.setattr(Outgoing, "_send_request", count)
    with far(mirror.stations.target):
        mirror.copy_all()
    assert most > outgoing._MAX_IN_FLIGHT
    mirror.assert_equal(at_least=PARTITIONS * BATCHES)


def fed(mirror: Mirror) -> Mirror:
    """The same mirror, with batches in each source partition."""
    for number in range(PARTITIONS):
        mirror.write([numbered(1, index, size=PASSED_ON) for index in range(BATCHES)], number)
    return mirror
