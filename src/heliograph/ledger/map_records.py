"""The offset map of a flow as records of a compacted topic, so that nobody has to read weeks of its ledger.

Each pair of partitions has a head, and a record for each page of its runs, of which only the last one still changes.
One more record says how far the ledger has been read for all. What changes together is written in one transaction; of
a large change those of each source partition. Until all are written, records beside them say how far these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from heliograph.errors import MalformedRecord
from heliograph.ledger.numbers import Packer, Unpacker
from heliograph.ledger.pages import Noted, Page
from heliograph.model import Run, TopicPartition

FORMAT = 1
_HEAD, _PAGE, _REACHED, _AHEAD = b"h", b"p", b"r", b"a"
_BEGINS_HERE, _GAP_IS_UNKNOWN, _END_IS_VAGUE, _IS_BROKEN = 1, 2, 4, 8


class Pair(NamedTuple):
    """A source partition, and a partition of the target that its records were sent to."""

    source: TopicPartition
    target: TopicPartition


class Head(NamedTuple):
    """What is known of a pair beside its pages; these have the numbers from `first_page` to `last_page`."""

    is_own: bool  # whether the target is the one that the policy names
    next_source: int
    next_target: int
    begins_here: bool
    gap_is_unknown: bool
    end_is_vague: bool
    is_broken: bool
    first_page: int
    last_page: int


class Reached(NamedTuple):
    """How far the ledger has been read."""

    ledger_id: UUID
    offset: int
    owner: str = ""  # who wrote the last entry


class Content(NamedTuple):
    """What the topic holds, as it is read: nothing is unpacked before somebody asks for it."""

    heads: dict[Pair, Head]
    pages: dict[Pair, dict[int, Page]]
    reached: Reached | None
    ahead: dict[TopicPartition, Reached]  # source partitions that are written down further than all are


def head_key(pair: Pair) -> bytes:
    """The key of a head."""
    return _key(_HEAD, pair)


def page_key(pair: Pair, number: int) -> bytes:
    """The key of a page."""
    packer = Packer()
    packer.count(number)
    return _key(_PAGE, pair) + bytes(packer.data)


def reached_key() -> bytes:
    """The key of the record that says how far the ledger has been read."""
    return _REACHED


def ahead_key(source: TopicPartition) -> bytes:
    """The key of the record that says how far the ledger has been read for one source partition."""
    return _key(_AHEAD, [source])


def source_of(key: bytes) -> TopicPartition:
    """The source partition that a head or a page is about."""
    return _partition(Unpacker(key, 1))


def encode_head(head: Head) -> bytes:
    """The value of a head."""
    packer = _begun()
    packer.count(int(head.is_own))
    packer.number(head.next_source)
    packer.number(head.next_target)
    flags = _BEGINS_HERE * head.begins_here | _GAP_IS_UNKNOWN * head.gap_is_unknown
    packer.count(flags | _END_IS_VAGUE * head.end_is_vague | _IS_BROKEN * head.is_broken)
    packer.count(head.first_page)
    packer.count(head.last_page)
    return bytes(packer.data)


def encode_page(page: Page) -> bytes:
    """The value of a page."""
    packer = _begun()
    run, gap = page.first
    packer.number(run.source)
    packer.number(run.target)
    packer.number(run.length)
    packer.count(gap)
    packer.count(page.runs)
    packer.data += page.data
    return bytes(packer.data)


def encode_reached(reached: Reached) -> bytes:
    """The value of the record that says how far the ledger has been read."""
    packer = _begun()
    packer.data += reached.ledger_id.bytes
    packer.count(reached.offset)
    packer.text(reached.owner)
    return bytes(packer.data)


def decode(records: dict[bytes, bytes]) -> Content:
    """The newest records of the topic, by their keys, as what they say; MalformedRecord if they are too new."""
    content = Content({}, {}, None, {})
    for key, value in records.items():
        kind, unpacker = key[:1], _opened(value)
        if kind == _REACHED:
            content = content._replace(reached=_unpacked_reached(unpacker))
            continue
        if kind == _AHEAD:
            content.ahead[source_of(key)] = _unpacked_reached(unpacker)
            continue
        place = Unpacker(key, 1)
        pair = Pair(_partition(place), _partition(place))
        if kind == _HEAD:
            content.heads[pair] = _unpacked_head(unpacker)
        elif kind == _PAGE:
            content.pages.setdefault(pair, {})[place.count()] = _unpacked_page(unpacker)
    return content


def _key(kind: bytes, pair: Iterable[TopicPartition]) -> bytes:
    packer = Packer()
    packer.data += kind
    for where in pair:
        packer.text(where.topic)
        packer.count(where.partition)
    return bytes(packer.data)


def _partition(unpacker: Unpacker) -> TopicPartition:
    return TopicPartition(unpacker.text(), unpacker.count())


def _begun() -> Packer:
    packer = Packer()
    packer.data.append(FORMAT)
    return packer


def _opened(value: bytes) -> Unpacker:
    if value[0] > FORMAT:
        raise MalformedRecord(
            f"the offset map has records of format {value[0]}, written by a newer version of Heliograph; this one "
            f"reads formats up to {FORMAT}: use the newer version for this flow"
        )
    return Unpacker(value, 1)


def _unpacked_head(unpacker: Unpacker) -> Head:
    is_own, next_source, next_target = bool(unpacker.count()), unpacker.number(), unpacker.number()
    flags = unpacker.count()
    begins, gap, vague, broken = (
        bool(flags & flag) for flag in (_BEGINS_HERE, _GAP_IS_UNKNOWN, _END_IS_VAGUE, _IS_BROKEN)
    )
    return Head(
        is_own, next_source, next_target, begins, gap, vague, broken, unpacker.count(), unpacker.count()
    )  # fmt: skip


def _unpacked_reached(unpacker: Unpacker) -> Reached:
    return Reached(UUID(bytes=unpacker.raw(16)), unpacker.count(), unpacker.text())


def _unpacked_page(unpacker: Unpacker) -> Page:
    run = Run(unpacker.number(), unpacker.number(), unpacker.number())
    return Page(Noted(run, unpacker.count()), unpacker.count(), unpacker.rest())
