from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import TopicPartition
from heliograph.sync.offset_sync_store import OffsetSyncStore

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
AHEAD = 5  # how far the target's offsets are ahead of the source's


def store_of(*upstream_offsets: int, must_read_to_end: bool = True) -> OffsetSyncStore:
    """A store that has read these syncs and nothing else yet."""
    store = OffsetSyncStore(must_read_to_end)
    for offset in upstream_offsets:
        store.add(OffsetSync(T0, offset, offset + AHEAD))
    store.reached_end()
    return store


def kept_by(store: OffsetSyncStore, end: int) -> list[int]:
    """Those of the multiples of ten that are still known exactly."""
    return [offset for offset in range(0, end + 1, 10) if store.translate(T0, offset) == offset + AHEAD]


@pytest.mark.parametrize(("upstream", "downstream"), [(150, 201), (101, 201), (100, 200), (99, None), (5, None)])
def test_one_sync_translates_itself_one_past_itself_and_nothing_before(upstream: int, downstream: int | None) -> None:
    store = OffsetSyncStore()
    store.add(OffsetSync(T0, 100, 200))
    store.reached_end()
    assert store.translate(T0, upstream) == downstream


def test_nothing_is_translated_before_the_end_is_reached() -> None:
    store = OffsetSyncStore(must_read_to_end=False)
    store.add(OffsetSync(T0, 100, 200))
    assert store.translate(T0, 100) is None
    store.reached_end()
    assert store.translate(T0, 100) == 200


def test_a_partition_without_syncs_is_not_translated() -> None:
    assert store_of(1).translate(T1, 1) is None


@pytest.mark.parametrize(
    ("must_read_to_end", "kept_at_start", "kept"),
    [
        (True, [1000], [1000, 4840, 6760, 8680, 9160, 9640, 9880, 9940, 9970, 9990, 10000]),
        (False, None, [0, 3840, 7680, 8640, 9120, 9600, 9840, 9900, 9960, 9990, 10000]),
    ],
)
def test_the_syncs_that_stay_are_those_of_mirrormaker(
    must_read_to_end: bool, kept_at_start: list[int] | None, kept: list[int]
) -> None:
    store = store_of(*range(0, 1001, 10), must_read_to_end=must_read_to_end)
    if kept_at_start is not None:
        assert kept_by(store, 1000) == kept_at_start
    for offset in range(1010, 10001, 10):
        store.add(OffsetSync(T0, offset, offset + AHEAD))
    assert kept_by(store, 10000) == kept


def test_a_source_that_went_back_clears_what_was_known() -> None:
    store = store_of(*range(0, 10001, 10), must_read_to_end=False)
    store.add(OffsetSync(T0, 1500, 11000))
    assert [store.translate(T0, offset) for offset in (1499, 1500, 9999)] == [None, 11000, 11001]


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=200, unique=True), st.integers(0, 2**63 - 1))
def test_a_translation_is_never_ahead_and_the_newest_sync_is_always_known(syncs: list[int], asked: int) -> None:
    store = store_of(*sorted(syncs), must_read_to_end=False)
    answer = store.translate(T0, asked)
    assert answer is None or answer <= asked + AHEAD
    assert store.translate(T0, max(syncs)) == max(syncs) + AHEAD
