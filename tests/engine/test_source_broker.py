"""What the lines of a lane share, and what each has for itself: bandwidth and memory."""

from __future__ import annotations

from heliograph.engine.source_broker import FetchBuffer, Pace


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
