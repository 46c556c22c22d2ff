"""What one micro-batch of detection hands to each bucket, and gets back from it."""

from __future__ import annotations

import msgspec

from heliograph.conflicts.bucket import CutKey, Resumption
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.held_pages import HeldKey
from heliograph.conflicts.settlement import Change, Told

TICK, RECORDS, HELD = range(3)  # the kinds of rows that go to a bucket


class Tick(msgspec.Struct, frozen=True):
    """Every bucket gets one with every epoch: how far all has been read."""

    run: str  # since detection was begun anew: whose it is
    epoch: int
    planned_at_ms: int
    watermark_ms: int
    places: dict[str, dict[int, int]]  # what has been read by the end of the epoch
    topic_ids: dict[str, str]
    resumption: Resumption | None = None  # with the first epoch of a run


class HeldRow(msgspec.Struct, frozen=True, array_like=True):
    """What a view held at the last start: a part of one partition. Of the same key the later one counts."""

    place: int  # an offset that tells it from earlier and later parts
    held: list[HeldKey]


class Mark(msgspec.Struct, frozen=True):
    """Where a bucket stands after an epoch."""

    watermark_ms: int
    oldest_ms: int | None  # of the records that wait
    waiting: int
    records: int  # that were taken in
    late: int
    cuts: list[CutKey]


class Outcome(msgspec.Struct, frozen=True):
    """A part of what a bucket tells in an epoch; the last part has the mark."""

    bucket: int
    told: list[Told]
    changes: list[Change]
    tick: Tick | None = None
    mark: Mark | None = None


_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode
decode_tick = msgspec.msgpack.Decoder(Tick).decode
decode_records = msgspec.msgpack.Decoder(list[Candidate]).decode
decode_held = msgspec.msgpack.Decoder(HeldRow).decode
decode_outcome = msgspec.msgpack.Decoder(Outcome).decode
