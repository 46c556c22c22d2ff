"""What the lines of a lane share, and what each has for itself: bandwidth and memory."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.engine.lane_session import LaneSession
from heliograph.engine.source_broker import Arrival, FetchBuffer, Pace
from heliograph.kafka.fetching import FetchResult


def test_whoever_reads_pays_for_all() -> None:
    pace = Pace(1000.0)
    assert pace.allows(50.0)
    pace.spend(500, 50.0)
    pace.spend(500, 50.0)
    assert not pace.allows(50.9)
    assert pace.allows(51.0)


def test_time_in_which_nothing_was_read_is_not_saved_up() -> None:
    pace = Pace(1000.0)
    pace.spend(500, 50.0)
    pace.spend(500, 90.0)
    assert not pace.allows(90.4)


def test_without_a_limit_everything_is_free() -> None:
    pace = Pace()
    pace.spend(10**12, 50.0)
    assert pace.allows(50.0)


def test_a_buffer_grows_in_steps_up_to_its_usual_size_and_beyond_it_only_as_needed() -> None:
    buffer = FetchBuffer(10_000)
    sizes = [len(buffer.memory(size)) for size in (300, 200, 400, 6_000, 7_000, 10_500)]
    assert sizes == [300, 300, 600, 6_000, 10_000, 10_500]


def test_memory_that_is_large_enough_is_used_again() -> None:
    buffer = FetchBuffer(10_000)
    assert buffer.memory(5_000) is buffer.memory(4_000)


@pytest.mark.parametrize(("is_full_after", "left"), [(1, 2), (2, 1), (9, 0)])
def test_a_lane_that_has_enough_to_write_leaves_answers_in_their_buffers(is_full_after: int, left: int) -> None:
    line: Any = SimpleNamespace(looked_at=lambda _: None)
    session: Any = LaneSession.__new__(LaneSession)
    session._incoming = SimpleNamespace(arrivals=deque(Arrival(line, FetchResult(0, 0), FetchBuffer(1)) for _ in "abc"))
    session._has_writers = False
    session._outgoing = SimpleNamespace(is_full=False)
    seen: list[FetchResult] = []

    def look_at(_: object, result: FetchResult, __: object) -> None:
        seen.append(result)
        session._outgoing.is_full = len(seen) >= is_full_after

    session._look_at = look_at
    session._look_at_arrivals()
    assert len(session._incoming.arrivals) == left
