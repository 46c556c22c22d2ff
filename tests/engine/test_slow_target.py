"""A target that takes less than the source gives: little waits in memory, and transactions end in time."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from bench.wan_relay import Link
from heliograph.engine import outgoing
from heliograph.engine.lane_session import LaneSession
from heliograph.engine.outgoing import Outgoing
from heliograph.kafka.fetching import FetchLimits
from tests.engine.lane_bench import QUICK, MakeMirror
from tests.engine.links import behind
from tests.zoo.odd_records import numbered

pytestmark = pytest.mark.kafka

FETCHED, MOST_WAITING = 200_000, 400_000  # bytes
BATCHES, RECORDS, RECORD_BYTES = 40, 20, 5_000


def test_batches_that_are_built_anew_do_not_pile_up(make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = make_mirror(settings={"message.timestamp.type": "LogAppendTime"})
    mirror.write(numbered(RECORDS, RECORDS * number, RECORD_BYTES) for number in range(BATCHES))
    monkeypatch.setattr(outgoing, "_MOST_REBUILT_BYTES", MOST_WAITING, raising=False)
    waiting = [0]
    pump = Outgoing.pump

    def measure(sender: Outgoing) -> None:
        queues = [target.queue for target in sender._partitions.values()]
        waiting.append(sum(len(batch.data) for queue in queues for batch in queue))
        pump(sender)

    monkeypatch.setattr(Outgoing, "pump", measure)
    limits = FetchLimits(max_wait_ms=50, max_bytes=FETCHED, partition_max_bytes=FETCHED)
    with behind(Link.of(round_trip_ms=2, megabits=8), mirror.stations.target, monkeypatch):
        mirror.copy_all(replace(QUICK, limits=limits))
    mirror.assert_equal(at_least=BATCHES * RECORDS)
    assert max(waiting) < MOST_WAITING + 2 * FETCHED


def test_transactions_end_in_time_over_a_slow_link(make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = make_mirror(partitions=4)
    for number in range(4):
        mirror.write([numbered(4, 4 * index, RECORD_BYTES) for index in range(25)], number)  # 2 MB, 20 kB at a time
    starts: list[float] = []
    commits: list[float] = []
    start = LaneSession.start

    def note(session: LaneSession) -> None:
        start(session)
        starts.append(time.monotonic())

    monkeypatch.setattr(LaneSession, "start", note)
    begin_commit = LaneSession._begin_commit

    def note_commit(session: LaneSession) -> None:
        begin_commit(session)
        commits.append(time.monotonic())

    monkeypatch.setattr(LaneSession, "_begin_commit", note_commit)
    with behind(Link.of(round_trip_ms=20, megabits=1.6), mirror.stations.target, monkeypatch):
        mirror.copy_all()
    mirror.assert_equal(at_least=4 * 25 * 4)
    assert len(starts) == 1
    gaps = [after - before for before, after in pairwise([*starts, *commits])]
    assert max(gaps) < 5, "of 15 seconds that a transaction has, and 10 that all takes"
