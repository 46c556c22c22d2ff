"""Who is going to write to which partition without transactions: what lanes declare, and which of that counts.

A *note* is a lane's declaration for one source partition, and tells under which transactional id's producer id it is
going to write, and to which partition of the target. It is *open* until its lane ends well, or another lane has found
out how far it came. All notes of a flow are in one compacted topic of one partition, keyed by partition and writer, so
that a lane that is overtaken never replaces what a later one has declared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.ledger.declarations import Anchor, Declaration, Flush, Recovered, Writer
from heliograph.ledger.numbers import Packer, Unpacker
from heliograph.model import TopicPartition

FORMAT = 1
_NOTE, _USES = ord("n"), ord("u")
REST_MS = 15 * 60 * 1000  # longer than a silent connection lives (10 minutes), and than a lane trusts its lease
NEVER_AGAIN = -1  # instead of a time: an id that must not be used any more
MOST_EPOCHS = 30_000  # of an id; brokers give it another producer id after 32,767


@dataclass(frozen=True)
class Note:
    """What a lane declares about one source partition."""

    source: TopicPartition
    target: TopicPartition
    lane: str  # what the names of its transactional ids begin with
    name: str  # of the one that it writes data under
    declaration: Declaration
    base: Flush  # how far the partition was when this was first declared
    seen: int = 0  # up to where its writer had read the notes when it declared

    @property
    def session(self) -> Session:
        """What all notes of one writer about this partition have in common."""
        return Session(self.source, self.declaration.writer)


class Session(NamedTuple):
    """One writer at one source partition."""

    source: TopicPartition
    writer: Writer


class Touch(NamedTuple):
    """That a session was noted, or its end, at an offset."""

    offset: int
    session: Session


@dataclass
class Notes:
    """What the notes say up to some offset.

    Of each partition those count that no later one has seen: one, as a rule. Two if both lanes declared without knowing
    of each other; then at most one of them has written, for whoever comes second looks back and leaves it.
    """

    end: int = 0
    used: dict[str, dict[str, int]] = field(default_factory=dict)  # by lane: its ids, and when each was last used
    touches: list[Touch] = field(default_factory=list)
    replaced: set[Session] = field(default_factory=set)  # of which there are still notes, which do not count
    _open: dict[TopicPartition, dict[Session, tuple[int, Note]]] = field(default_factory=dict)

    def take(self, offset: int, note: Note) -> None:
        """A note takes the place of those that its writer had seen, and of its own earlier ones."""
        self.touches.append(Touch(offset, note.session))
        known = self._open.setdefault(note.source, {})
        for session in [session for session, (at, _) in known.items() if at < note.seen and session != note.session]:
            del known[session]
            self.replaced.add(session)
        known[note.session] = (offset, note)

    def end_session(self, offset: int, session: Session) -> None:
        """Take in that a session has ended well, or that its end was found out."""
        self.touches.append(Touch(offset, session))
        self._open.get(session.source, {}).pop(session, None)
        self.replaced.discard(session)

    def about(self, source: TopicPartition) -> list[Note]:
        """The notes under which somebody may be writing what a partition has."""
        return [note for _, note in self._open.get(source, {}).values()]

    def all(self) -> Iterator[Note]:
        """The same of all partitions."""
        for source in self._open:
            yield from self.about(source)

    def others_since(self, offset: int, sources: Collection[TopicPartition], writer: Writer) -> list[Session]:
        """Whoever else was noted about one of these partitions from an offset on."""
        return [
            session
            for at, session in self.touches
            if at >= offset and session.source in sources and session.writer != writer
        ]

    def apply(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Take in a record of the topic."""
        self.end = max(self.end, offset + 1)
        what = decode_key(key)
        if isinstance(what, Session):
            if value is None:
                self.end_session(offset, what)
            else:
                self.take(offset, decode_note(what, value))
        elif isinstance(what, str) and value is not None:
            self.used[what] = decode_uses(value)


def flushed(note: Note, position: Flush) -> Flush:
    """From where on it must be found out how far the writer of a note came."""
    return position if position.writer == note.declaration.writer else note.base


def furthest(position: Flush, found: Iterable[Recovered]) -> Recovered:
    """How far a partition is, by its position and what was recovered for each note about it.

    What lies furthest on the target counts: there, nobody goes back. On the source somebody may have to, if a topic
    was created again, for example.
    """
    best = Recovered(position)
    for one in found:
        if one.flush.target_offset > best.flush.target_offset or (one.doubt is not None and best.doubt is None):
            best = one
    return best


# -- ids ---------------------------------------------------------------------------------------------------


def choose_id(lane: str, used: Mapping[str, int], now_ms: int, rest_ms: int = REST_MS, first: int = 3) -> str:
    """Under which id a lane writes next: the one unused longest.

    Brokers expire what they know of a producer by the age of the records that it writes. So under an id that writes old
    records they may forget its earlier epochs, and then refuse nothing of these. By the time that an id is used again
    its earlier writers must be gone for certain, so each rests, and another one is taken if all have been used lately.
    """
    names = {f"{lane}d{number}": 0 for number in range(first)} | dict(used)
    fit = [(when, name) for name, when in names.items() if when != NEVER_AGAIN and now_ms - when >= rest_ms]
    return min(fit)[1] if fit else f"{lane}d{len(names)}"


# -- records -----------------------------------------------------------------------------------------------


def encode_session(session: Session) -> bytes:
    """The key of a note."""
    packer = _begun(_NOTE)
    packer.text(session.source.topic)
    packer.count(session.source.partition)
    packer.count(session.writer.producer_id)
    packer.count(session.writer.epoch)
    return bytes(packer.data)


def encode_lane(lane: str) -> bytes:
    """The key of the record that tells when a lane has used its ids."""
    packer = _begun(_USES)
    packer.text(lane)
    return bytes(packer.data)


def decode_key(key: bytes | None) -> Session | str | None:
    """The session or the lane of a key; None for a kind that is not known."""
    if key is None or len(key) < 2:
        raise MalformedRecord(f"a declaration has a key that is none: {key!r}")
    _check_format(key)
    unpacker = Unpacker(key, 2)
    if key[1] == _NOTE:
        source = TopicPartition(unpacker.text(), unpacker.count())
        return Session(source, Writer(unpacker.count(), unpacker.count()))
    return unpacker.text() if key[1] == _USES else None


def encode_note(note: Note) -> bytes:
    """The value of a note: anchors as they differ from what would follow the one before."""
    packer = _begun(_NOTE)
    packer.text(note.lane)
    packer.text(note.name.removeprefix(note.lane))
    packer.text(note.target.topic)
    packer.count(note.target.partition)
    packer.data += UUID(note.declaration.topic_id).bytes
    packer.count(note.seen)
    _pack_flush(packer, note.base)
    packer.count(len(note.declaration.anchors))
    before = Anchor(0, 0, 0)
    for anchor in note.declaration.anchors:
        passed = anchor.sequence - before.sequence
        packer.number(passed)
        packer.number(anchor.offset - before.offset - passed)
        packer.number(anchor.leader_epoch - before.leader_epoch)
        before = anchor
    return bytes(packer.data)


def decode_note(session: Session, value: bytes) -> Note:
    """The note with the key of a session."""
    _check_format(value)
    unpacker = Unpacker(value, 2)
    lane = unpacker.text()
    name = lane + unpacker.text()
    target = TopicPartition(unpacker.text(), unpacker.count())
    topic_id, seen, base = str(UUID(bytes=unpacker.raw(16))), unpacker.count(), _unpack_flush(unpacker)
    anchors: list[Anchor] = []
    before = Anchor(0, 0, 0)
    for _ in range(unpacker.count()):
        passed = unpacker.number()
        offset = before.offset + passed + unpacker.number()
        before = Anchor(before.sequence + passed, offset, before.leader_epoch + unpacker.number())
        anchors.append(before)
    if not anchors:
        raise MalformedRecord(f"a declaration of {session.source} has no anchor")
    return Note(session.source, target, lane, name, Declaration(session.writer, topic_id, tuple(anchors)), base, seen)


def _pack_flush(packer: Packer, flush: Flush) -> None:
    packer.number(flush.next_offset)
    packer.number(flush.target_offset)
    packer.number(flush.writer.producer_id if flush.writer else -1)
    packer.number(flush.writer.epoch if flush.writer else -1)
    packer.count(flush.next_sequence)
    packer.number(flush.leader_epoch)


def _unpack_flush(unpacker: Unpacker) -> Flush:
    offset, target_offset = unpacker.number(), unpacker.number()
    writer = Writer(unpacker.number(), unpacker.number())
    return Flush(
        offset, target_offset, writer if writer.producer_id >= 0 else None, unpacker.count(), unpacker.number()
    )


def encode_uses(used: Mapping[str, int]) -> bytes:
    """When each id of a lane was last used."""
    packer = _begun(_USES)
    packer.count(len(used))
    for name, when in used.items():
        packer.text(name)
        packer.number(when)
    return bytes(packer.data)


def decode_uses(value: bytes) -> dict[str, int]:
    """The same, read."""
    _check_format(value)
    unpacker = Unpacker(value, 2)
    return {unpacker.text(): unpacker.number() for _ in range(unpacker.count())}


def since(note: Note, sequence: int) -> Note:
    """The same note without what is flushed."""
    return replace(note, declaration=note.declaration.since(sequence))


def _begun(kind: int) -> Packer:
    packer = Packer()
    packer.data += bytes((FORMAT, kind))
    return packer


def _check_format(data: bytes) -> None:
    if not data or data[0] < FORMAT:
        raise MalformedRecord(f"a declaration is not what it should be: {data[:20]!r}")
    if data[0] > FORMAT:
        raise NewerFormat(
            f"there are declarations of format {data[0]}, written by a newer version of Heliograph; this one reads "
            f"formats up to {FORMAT}: use the newer version for this flow"
        )
