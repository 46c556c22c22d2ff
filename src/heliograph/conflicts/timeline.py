"""The records of one key that may still conflict, as they come in."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate, Identity, Order
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.stretch import settles_after_ms, stretch_end

NO_WATERMARK = -(2**63)


Settled = Conflict | Candidate  # a conflict, or a record that met no other


class Cut(msgspec.Struct, frozen=True, array_like=True):
    """Where a conflict that was too long for one decision was cut: its records from here to there are kept."""

    first: Order
    last: Order


class _State(msgspec.Struct, array_like=True):
    watermark_ms: int
    late_count: int
    carried: list[Candidate]
    waiting: list[Candidate]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


class Timeline:
    """Finds the conflicts of one key.

    A. What is found depends on the set of records alone, not on the order in which they came, nor on the steps of the
       watermark, as long as each came before the watermark had passed its timestamp.
    B. A record stays until the watermark has passed it by a window, or its conflict by a span: no longer.
    C. A conflict that lasts longer than the span is cut there: the records up to the cut are one conflict, and those
       of its last window, which later ones may still meet, are looked at again together with them. What meets no new
       record then is not told a second time.
    """

    def __init__(self, bounds: Bounds, watermark_ms: int = NO_WATERMARK) -> None:
        self._bounds = bounds
        self._watermark_ms = watermark_ms
        self._waiting: dict[Identity, Candidate] = {}
        self._carried: dict[Identity, Candidate] = {}  # of a conflict that was cut: told once already
        self.late_count = 0

    @classmethod
    def from_bytes(cls, bounds: Bounds, data: bytes) -> Timeline:
        """A timeline as `to_bytes` left it."""
        state = _decode(data)
        timeline = cls(bounds, state.watermark_ms)
        timeline.late_count = state.late_count
        timeline._carried = _by_identity(state.carried)
        timeline._waiting = _by_identity(state.waiting)
        return timeline

    @classmethod
    def resumed(cls, bounds: Bounds, watermark_ms: int, records: Iterable[Candidate], cut: Cut | None) -> Timeline:
        """The timeline that one became which had taken in these records, up to the watermark, and told what it found.

        Records may be among them that were settled long ago, also without those that they were settled with.
        """
        timeline = cls(bounds)
        for record in records:
            if cut is None or record.order > cut.last:
                timeline.add(record)
            elif record.order >= cut.first:
                timeline._carried[record.identity] = record
        if cut is None:
            timeline.take(watermark_ms)
        timeline._watermark_ms = watermark_ms
        return timeline

    def to_bytes(self) -> bytes:
        """All that must be known to go on later."""
        carried, waiting = list(self._carried.values()), list(self._waiting.values())
        return _encode(_State(self._watermark_ms, self.late_count, carried, waiting))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to wait for; a new timeline with the same watermark would do as well."""
        return not (self._waiting or self._carried)

    @property
    def cut(self) -> Cut | None:
        """Where the conflict was cut that goes on now, if one was."""
        if not self._carried:
            return None
        orders = [record.order for record in self._carried.values()]
        return Cut(min(orders), max(orders))

    @property
    def records(self) -> list[Candidate]:
        """All records that may still meet others, in no order."""
        return [*self._carried.values(), *self._waiting.values()]

    def __len__(self) -> int:
        return len(self._waiting) + len(self._carried)

    def add(self, candidate: Candidate) -> bool:
        """Take a record in; False if it is behind the watermark, so that it is counted, but can conflict no more."""
        if candidate.timestamp_ms < self._watermark_ms:
            self.late_count += 1
            return False
        before = self._waiting.get(candidate.identity, candidate)
        self._waiting[candidate.identity] = candidate.preferred(before)
        return True

    def settles_after_ms(self) -> int | None:
        """A watermark above this one settles something, as far as is known now; None if nothing waits."""
        ordered = self._ordered()
        if not ordered:
            return None
        return settles_after_ms(ordered, 0, stretch_end(ordered, 0, self._bounds), self._bounds)

    def take(self, watermark_ms: int) -> list[Settled]:
        """What is final, now that no record with a timestamp below the watermark will come any more, in its order."""
        self._watermark_ms = max(self._watermark_ms, watermark_ms)
        settled: list[Settled] = []
        ordered, start = self._ordered(), 0
        while start < len(ordered):
            end = stretch_end(ordered, start, self._bounds)
            if self._watermark_ms <= settles_after_ms(ordered, start, end, self._bounds):
                break
            start = self._settle(ordered, start, end, settled)
        return settled

    def _settle(self, ordered: list[Candidate], start: int, end: int, settled: list[Settled]) -> int:
        """Tell one stretch and forget it, except for what a later record may meet; where the next one begins."""
        stretch = ordered[start:end]
        carried = [self._carried.pop(record.identity, None) is not None for record in stretch]
        for record in stretch:
            self._waiting.pop(record.identity, None)
        if all(carried):
            return end
        if len(stretch) == 1:
            settled.append(stretch[0])
            return end
        settled.append(Conflict(tuple(stretch), self._bounds.window_ms, any(carried)))
        meets_after_ms = stretch[0].timestamp_ms + self._bounds.span_ms - self._bounds.window_ms
        kept = [record for record in stretch if record.timestamp_ms > meets_after_ms]
        self._carried.update(_by_identity(kept))
        return end - len(kept)

    def _ordered(self) -> list[Candidate]:
        return sorted(self.records, key=lambda record: record.order)


def _by_identity(candidates: Iterable[Candidate]) -> dict[Identity, Candidate]:
    return {candidate.identity: candidate for candidate in candidates}
