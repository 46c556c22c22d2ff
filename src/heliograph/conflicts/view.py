"""What a key of a logical topic comes to in the end: the compacted topic of resolved values."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from heliograph.conflicts.candidate import Candidate, Order
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Kept, Resolver
from heliograph.errors import DataError


class Held(msgspec.Struct, frozen=True, array_like=True):
    """What the view holds for one key; a value of None is a tombstone."""

    value: bytes | None
    upto: Order  # the last record that it takes into account
    memory: bytes = b""  # what the rule must remember
    floor: Order | None = None  # the last deletion, or value that could not be merged: nothing from before comes back

    def to_bytes(self) -> bytes:
        """All that must be known to go on later."""
        return _encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Held:
        """What `to_bytes` wrote."""
        return _decode(data)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Held).decode


class View:
    """Follows what is settled.

    A. Newer replaces older, whatever comes first, and however often. A rule that merges takes both; only around
       deletions, and values that it cannot read, things must come in the order of time, as a timeline gives them.
    B. A record too late for its conflicts still counts where it is newer than all that is held, or is merged. So views
       of the last writer, and merged ones without deletions, are alike on all clusters even then.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def after_record(self, held: Held | None, record: Candidate) -> Held:
        """What is held after a record that met no other, or that came too late."""
        return self._after(held, (record,), record.value)

    def after_conflict(self, held: Held | None, conflict: Conflict, resolution: Resolution) -> Held:
        """What is held after a conflict that was settled so."""
        return self._after(held, conflict.candidates, resolution.value)

    def _after(self, held: Held | None, records: Sequence[Candidate], value: bytes | None) -> Held:
        upto = records[-1].order
        if held is not None and upto <= held.upto and not self._still_adds(held, upto, value):
            return held
        before = Kept(None) if held is None else Kept(held.value, held.memory)
        floor = None if held is None else held.floor
        try:
            kept = self._resolver.keep(before, records, value)
        except DataError as error:
            if error.retriable:
                raise
            kept, floor = Kept(value, before.memory), upto
        if held is None or upto > held.upto:
            return Held(kept.value, upto, kept.memory, upto if kept.value is None else floor)
        return held if floor == upto else Held(kept.value, held.upto, kept.memory, floor)

    def _still_adds(self, held: Held, upto: Order, value: bytes | None) -> bool:
        """Whether something old has a part in what is held."""
        is_below = held.floor is not None and upto < held.floor
        return self._resolver.accumulates and value is not None and not is_below
