"""A target that takes less than the source gives: little waits in memory, and transactions end in time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from threading import Barrier

import pytest

from bench.wan_relay import Link
from heliograph.engine import outgoing
from heliograph.engine.lane_session import LaneSession
from heliograph.engine.outgoing import Outgoing
from heliograph.kafka.fetching import FetchLimits
from tests.engine.lane_bench import QUICK, MakeMirror, Mirror
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

    def measure(sender: Outgoing, is_last: bool = False) -> None:
        queues = [target.queue for target in sender._partitions.values()]
        waiting.append(sum(len(batch.data) for queue in queues for batch in queue))
        pump(sender, is_last)

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


def test_answers_that_come_together_do_not_pile_up_either(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A far source answers over several lines at once; what is built anew of one answer may fill the lane."""
    mirror = make_mirror(partitions=6, settings={"message.timestamp.type": "LogAppendTime"})
    for partition in range(6):
        mirror.write((numbered(RECORDS, RECORDS * number, RECORD_BYTES) for number in range(6)), partition)
    monkeypatch.setattr(outgoing, "_MOST_REBUILT_BYTES", MOST_WAITING)
    waiting, together = [0], [0]
    look_at_arrivals = LaneSession._look_at_arrivals

    def measure(session: LaneSession) -> None:
        together.append(len(session._incoming.arrivals))
        look_at_arrivals(session)
        waiting.append(session._outgoing._rebuilt_bytes)

    monkeypatch.setattr(LaneSession, "_look_at_arrivals", measure)
    limits = FetchLimits(max_wait_ms=50, max_bytes=FETCHED, partition_max_bytes=FETCHED)
    with (
        behind(Link.of(round_trip_ms=2, megabits=8), mirror.stations.target, monkeypatch),
        behind(Link.of(round_trip_ms=100, megabits=8000), mirror.stations.source, monkeypatch),
    ):
        mirror.copy_all(replace(QUICK, limits=limits))
    mirror.assert_equal(at_least=6 * 6 * RECORDS)
    assert max(together) > 1
    assert max(waiting) < MOST_WAITING + 1.5 * FETCHED


def test_lanes_that_share_a_slow_link_all_make_progress(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = 8
    all_begin = Barrier(lanes)
    mirrors = [make_mirror() for _ in range(lanes)]
    for mirror in mirrors:
        mirror.write([numbered(4, 4 * index, RECORD_BYTES) for index in range(25)])  # half a megabyte
    settings = QUICK.with_share_of(lanes)
    steps: dict[str, list[float]] = {mirror.transactional_id: [] for mirror in mirrors}
    start = LaneSession.start

    def note(session: LaneSession) -> None:
        start(session)
        seen = steps[session._plan.transactional_ids[0].removesuffix("-a")]
        if not seen:
            all_begin.wait(60)
        seen.append(time.monotonic())

    def copy_some(mirror: Mirror) -> None:
        """Two transactions, or more attempts."""
        seen = steps[mirror.transactional_id]
        for _ in mirror.lane(lambda: len(seen) > 2, settings):
            seen.append(time.monotonic())

    monkeypatch.setattr(LaneSession, "start", note)
    with (
        behind(Link.of(round_trip_ms=20, megabits=1.6), mirrors[0].stations.target, monkeypatch),
        ThreadPoolExecutor(lanes) as threads,
    ):
        list(threads.map(copy_some, mirrors))
    gaps = [after - before for seen in steps.values() for before, after in pairwise(seen)]
    assert max(gaps) < 8, "of 15 seconds that a transaction has"
