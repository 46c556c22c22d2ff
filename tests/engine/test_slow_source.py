"""A source that gives less than the lane would take: an answer may take long, as long as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from bench.wan_relay import Link
from heliograph.engine import incoming as incoming_module
from heliograph.engine import source_broker
from heliograph.engine.lane import Lane
from heliograph.engine.pulse import Heart, Pulse
from heliograph.kafka.access import Access
from heliograph.kafka.fetching import Fetched, FetchLimits
from heliograph.model import LedgerEntry, TopicPartition
from tests.engine.lane_bench import QUICK, MakeMirror, Mirror
from tests.engine.links import behind
from tests.engine.test_fetch_memory import Cluster, begun
from tests.waiting import wait_until
from tests.zoo.odd_records import numbered

SLOW = Link.of(round_trip_ms=2, megabits=1.6)
BATCHES, RECORDS, RECORD_BYTES = 60, 4, 5_000  # 1.2 MB, which take six seconds


def beating(mirror: Mirror, pulses: list[Pulse], count: int) -> Iterator[LedgerEntry]:
    """A lane with a heart, until it has copied so many records."""
    source = Access("primary", mirror.stations.source.split(","))
    target = Access("backup", mirror.stations.target.split(","))
    copied = 0
    deadline = time.monotonic() + 40

    def should_end() -> bool:
        assert time.monotonic() < deadline, f"copied only {copied} records"
        return copied >= count

    for entry in Lane(mirror.plan(), source, target, QUICK, should_end, heart=Heart(0, pulses.append)).run():
        copied += entry.record_count
        yield entry


@pytest.mark.kafka
def test_a_lane_makes_steady_progress_over_a_slow_link(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer alone takes longer than a broker may take until it begins to answer."""
    monkeypatch.setattr(source_broker, "_ANSWER_SECONDS", 2)
    mirror = make_mirror(partitions=4)
    for number in range(4):
        mirror.write([numbered(RECORDS, RECORDS * index, RECORD_BYTES) for index in range(BATCHES // 4)], number)
    pulses: list[Pulse] = []
    commits: list[float] = []
    with behind(SLOW, mirror.stations.source, monkeypatch):
        for _ in beating(mirror, pulses, BATCHES * RECORDS):
            commits.append(time.monotonic())
    mirror.assert_equal(at_least=BATCHES * RECORDS)
    assert max((after - before for before, after in pairwise(commits)), default=0) < 5
    assert any(pulse.doing.startswith("waiting for an answer of primary broker ") for pulse in pulses)


def test_a_partition_of_which_nothing_is_heard_is_told_however_often_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its broker takes connections, and answers nothing."""
    monkeypatch.setattr(incoming_module, "_LONG_SECONDS", 0.5)
    monkeypatch.setattr(incoming_module, "_LOOK_AGAIN_SECONDS", 0.01)
    cluster = Cluster(1)
    monkeypatch.setattr(Cluster, "look_up", lambda *_: {}, raising=False)
    reader = begun(cluster, FetchLimits())
    told: list[TopicPartition] = []
    began = time.monotonic()

    def lose_what_is_asked() -> bool:
        reader.fetch()
        for line in reader._lines():
            line.is_lost = True
        told.extend(reader.long_adrift())
        return bool(told)

    wait_until(lose_what_is_asked, "the partition to be told")
    assert time.monotonic() - began >= 0.5
    assert told == [TopicPartition("t", 0)]
    assert not list(reader.long_adrift())


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_partition_that_is_heard_of_again_is_not_told(monkeypatch: pytest.MonkeyPatch, is_heard: bool) -> None:
    monkeypatch.setattr(incoming_module, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(Cluster, "look_up", lambda *_: {}, raising=False)
    reader = begun(Cluster(1), FetchLimits())
    [line] = reader._lines()
    line.is_lost = True
    reader.fetch()
    [again] = reader._lines()
    if is_heard:
        [point] = again.session.points
        assert not reader.is_elsewhere(again, Fetched(point, 0, 0, 0, 0, None, -1, [], memoryview(b"")))
    assert bool(list(reader.long_adrift())) is not is_heard
