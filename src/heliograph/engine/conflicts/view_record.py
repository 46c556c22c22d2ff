"""A record of a view's topic: the value, and beside it what must be known to go on from there."""

from __future__ import annotations

import msgspec

from heliograph.conflicts.view import Held
from heliograph.kafka.records import Record

HEADER = "heliograph.resolved"


def view_record(key: bytes, held: Held) -> Record:
    """What is written when a key comes to something."""
    rest = msgspec.structs.replace(held, value=None).to_bytes()
    return Record(0, max(0, held.upto[0]), key, held.value, ((HEADER, rest),))


def held_of(record: Record) -> Held | None:
    """What a record of the view says; None if somebody else has written it."""
    rest = next((value for name, value in record.headers if name == HEADER and value), None)
    if rest is None:
        return None
    try:
        return msgspec.structs.replace(Held.from_bytes(rest), value=record.value)
    except msgspec.DecodeError:
        return None
