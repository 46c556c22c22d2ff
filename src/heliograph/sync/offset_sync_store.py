"""Translates offsets by the offset syncs of a MirrorMaker 2, which keeps ever fewer of them the older they get."""

from __future__ import annotations

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import TopicPartition

_SLOTS = 64


class OffsetSyncStore:
    """Keeps up to 64 syncs of each source partition, dense near the newest and sparse towards the oldest.

    With `must_read_to_end`, what was written before the store began to follow the topic counts only as far as its
    last sync: without older checkpoints to compare with, an older sync could move a group backwards.
    """

    def __init__(self, must_read_to_end: bool = True) -> None:
        self._must_read_to_end = must_read_to_end
        self._is_read_to_end = False
        self._slots: dict[TopicPartition, list[OffsetSync]] = {}

    def add(self, sync: OffsetSync) -> None:
        """Take the next sync of the topic."""
        slots = self._slots.get(sync.source)
        is_loading = self._must_read_to_end and not self._is_read_to_end
        if slots is None or is_loading or sync.upstream_offset < slots[0].upstream_offset:
            self._slots[sync.source] = [sync] * _SLOTS
        else:
            _insert(slots, sync)

    def reached_end(self) -> None:
        """All that was in the topic at the start has been taken; from now on offsets can be translated."""
        self._is_read_to_end = True

    def translate(self, source: TopicPartition, upstream_offset: int) -> int | None:
        """The target offset from which a reader misses nothing; None when the syncs do not reach back that far."""
        slots = self._slots.get(source)
        if slots is None or not self._is_read_to_end:
            return None
        sync = next((slot for slot in slots if slot.upstream_offset <= upstream_offset), None)
        if sync is None:
            return None
        # Beyond the sync records may have been left out, so that only the step past it is certain.
        return sync.downstream_offset + (sync.upstream_offset != upstream_offset)


def _insert(slots: list[OffsetSync], new: OffsetSync) -> None:
    """Put a sync first, and let older ones move on into the slots where they are not too close to each other."""
    old = list(slots)
    slots[0] = replacement = new
    reading = 0
    for current in range(1, _SLOTS):
        previous = current - 1
        is_skipping = True
        while is_skipping:
            candidate = old[reading]
            is_far = _is_far_enough(slots[previous], candidate, previous)
            fits_next = current == _SLOTS - 1 or _is_far_enough(candidate, slots[current + 1], current)
            is_fit = is_far and fits_next and _is_close_enough(slots[previous], candidate, previous, current)
            if is_fit:
                replacement = candidate
            is_skipping = old[reading + 1] is candidate or not is_far
            reading += is_fit or is_skipping
            is_skipping = is_skipping and reading < current
        if _is_close_enough(slots[previous], slots[current], previous, current):
            return
        slots[current] = replacement


def _is_close_enough(newer: OffsetSync, older: OffsetSync, newer_slot: int, older_slot: int) -> bool:
    bound = older.upstream_offset + 2**older_slot - 2**newer_slot
    return newer is older or newer.upstream_offset <= bound


def _is_far_enough(newer: OffsetSync, older: OffsetSync, newer_slot: int) -> bool:
    bound = older.upstream_offset + 2 ** max(newer_slot - 2, 0)
    return newer is older or newer.upstream_offset >= bound
