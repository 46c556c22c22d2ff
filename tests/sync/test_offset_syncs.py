from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import Run, TopicPartition
from heliograph.sync.offset_syncs import OffsetSyncEmitter

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def emitted_one_by_one(emitter: OffsetSyncEmitter, run: Run) -> list[OffsetSync]:
    """What is due after each record."""
    found: list[OffsetSync] = []
    for index in range(run.length):
        emitter.mirrored(T0, Run(run.source + index, run.target + index, 1))
        found += emitter.take_due()
    return found


def test_a_sync_is_due_first_when_stale_after_a_gap_and_after_a_rewind() -> None:
    emitter = OffsetSyncEmitter(50)
    steps = [
        (0, 100, True),  # the first
        (2, 102, True),  # a source offset was left out
        (3, 152, False),  # 49 behind what the last one translates to
        (4, 153, True),  # 50 behind
        (5, 154, False),
        (6, 203, False),
        (7, 204, True),
        (2, 206, True),  # the source went back
        (3, 207, False),
        (4, 3, True),  # the target was truncated
        (5, 4, False),
    ]
    for upstream, downstream, is_due in steps:
        emitter.mirrored(T0, Run(upstream, downstream, 1))
        assert emitter.take_due() == ([OffsetSync(T0, upstream, downstream)] if is_due else [])


def test_without_lag_each_record_is_due() -> None:
    assert emitted_one_by_one(OffsetSyncEmitter(0), Run(5, 9, 3)) == [OffsetSync(T0, 5 + i, 9 + i) for i in range(3)]


def test_a_commit_brings_the_last_record_too_and_once() -> None:
    emitter = OffsetSyncEmitter(100)
    emitter.mirrored(T0, Run(0, 0, 10))
    assert emitter.take_due() == [OffsetSync(T0, 0, 0)]
    assert emitter.take_all() == [OffsetSync(T0, 9, 9)]
    assert emitter.take_all() == []


def test_a_due_sync_replaces_the_delayed_one_before_it() -> None:
    emitter = OffsetSyncEmitter(100)
    emitter.mirrored(T0, Run(0, 0, 10))
    emitter.mirrored(T0, Run(20, 20, 1))
    assert emitter.take_all() == [OffsetSync(T0, 20, 20)]


def test_the_delayed_sync_replaces_a_due_one_that_nobody_took() -> None:
    emitter = OffsetSyncEmitter(100)
    emitter.mirrored(T0, Run(0, 0, 10))
    assert emitter.take_all() == [OffsetSync(T0, 9, 9)]
    assert emitter.take_due() == []


def test_partitions_do_not_know_each_other() -> None:
    emitter = OffsetSyncEmitter(100)
    emitter.mirrored(T0, Run(0, 0, 10))
    emitter.mirrored(T1, Run(7, 3, 1))
    assert emitter.take_due() == [OffsetSync(T0, 0, 0), OffsetSync(T1, 7, 3)]
    assert emitter.take_all() == [OffsetSync(T0, 9, 9)]


jumps = st.sampled_from([-30, -1, 0, 0, 0, 1, 60])


@st.composite
def histories(draw: st.DrawFn) -> list[Run]:
    """Runs that mostly follow each other, with gaps and steps back on either side now and then."""
    lengths = draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
    sources = accumulate((draw(jumps) + length for length in lengths[:-1]), initial=1000)
    targets = accumulate((draw(jumps) + length for length in lengths[:-1]), initial=1000)
    return [Run(*run) for run in zip(sources, targets, lengths, strict=True)]


@given(histories(), st.integers(0, 30), st.sets(st.integers(0, 11)))
def test_a_run_at_once_is_the_same_as_its_records_one_by_one(
    history: list[Run], max_lag: int, commits: set[int]
) -> None:
    whole, single = OffsetSyncEmitter(max_lag), OffsetSyncEmitter(max_lag)
    for number, run in enumerate(history):
        whole.mirrored(T0, run)
        due = emitted_one_by_one(single, run)
        assert whole.take_due() == due[-1:]
        if number in commits:
            assert whole.take_all() == single.take_all()
