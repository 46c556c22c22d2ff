"""What a lane writes down that does not use transactions: under an id of its own, which locks out who had it before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from heliograph.engine.outgoing import Outgoing
from heliograph.kafka import fence, reading, records
from heliograph.kafka.fence import Fence
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import PlainProducer, TransactionalProducer, take_all
from heliograph.ledger import notes
from heliograph.ledger.notes import Note, Notes, Session
from heliograph.model import InternalTopics, TopicPartition

_BATCH_BYTES = 400_000


def books_id(lane: str) -> str:
    """The transactional id under which a lane writes its books."""
    return f"{lane}k"


def is_books_id(name: str) -> bool:
    """Whether a lane's transactional id is that of its books."""
    return name.endswith("k")


def books_partitions(topics: InternalTopics, offsets_partitions: Collection[int]) -> frozenset[TopicPartition]:
    """Where a flow writes down what must not be written by anybody who was overtaken."""
    offsets = {TopicPartition(topics.offsets, number) for number in offsets_partitions}
    single = {TopicPartition(topic, 0) for topic in (topics.ledger, topics.journal, topics.declarations)}
    return frozenset(offsets | single)


def fence_books(
    network: Network, lanes: Collection[str], partitions: frozenset[TopicPartition], timeout_ms: int
) -> list[TransactionalProducer]:
    """From now on nothing can be written to the books under the ids of these lanes."""
    taken = take_all(network, [books_id(lane) for lane in lanes], timeout_ms)
    fence.check_put_up(network, [Fence(producer, partitions) for producer in taken])
    return taken


def read_notes(network: Network, topic: str, known: Notes) -> None:
    """Take in what was noted since the last time."""
    starts = {0: known.end} if known.end else reading.list_offsets(network, topic, {0: EARLIEST})
    end = reading.list_offsets(network, topic, {0: reading.LATEST})[0]
    for _, record in reading.read_to_end(network.loop, network, topic, starts):
        known.apply(record.offset, record.key, record.value)
    known.end = max(known.end, end)


class PlainBooks:
    """One lane's."""

    def __init__(
        self, network: Network, lane: str, topics: InternalTopics, offsets_partitions: Collection[int]
    ) -> None:
        self.partitions = books_partitions(topics, offsets_partitions)
        self.notes = Notes()
        self._network = network
        self._lane = lane
        self._notes_topic = topics.declarations

    def take(self, timeout_ms: int) -> None:
        """Lock out earlier attempts of the lane; what they have written can be read then."""
        [taken] = fence_books(self._network, [self._lane], self.partitions, timeout_ms)
        self._outgoing = Outgoing(
            self._network, PlainProducer(books_id(self._lane), taken.stamp), self._network.loop.fail
        )
        self.read()

    def read(self) -> None:
        """Take in what was noted since the last time."""
        read_notes(self._network, self._notes_topic, self.notes)

    def write(self, contents: Mapping[TopicPartition, Sequence[Record]], on_written: Callable[[], None]) -> None:
        """Write records, those of each partition in their order; `on_written` is called when all of them are safe."""
        batches = {where: list(_batches(written)) for where, written in contents.items() if written}
        rounds = max(map(len, batches.values()), default=0)
        if not rounds:
            on_written()
            return
        left = rounds

        def written() -> None:
            nonlocal left
            left -= 1
            if not left:
                on_written()

        for number in range(rounds):
            chosen = {
                self._outgoing.partition(where): found[number]
                for where, found in batches.items()
                if number < len(found)
            }
            self._outgoing.send_now(chosen, written)

    def write_and_wait(self, contents: Mapping[TopicPartition, Sequence[Record]]) -> None:
        """The same, and wait for it."""
        done: list[None] = []
        self.write(contents, lambda: done.append(None))
        self._network.loop.run_until(lambda: bool(done), f"{self._network.access.alias} to take what is written down")

    def of_notes(self, some: Sequence[Note], now_ms: int) -> dict[TopicPartition, Sequence[Record]]:
        """Notes as records."""
        made = [Record(0, now_ms, notes.encode_session(note.session), notes.encode_note(note)) for note in some]
        return {TopicPartition(self._notes_topic, 0): made}

    def of_uses(self, used: Mapping[str, int], now_ms: int) -> dict[TopicPartition, Sequence[Record]]:
        """When the ids of the lane were last used."""
        made = Record(0, now_ms, notes.encode_lane(self._lane), notes.encode_uses(used))
        return {TopicPartition(self._notes_topic, 0): [made]}

    def of_ends(self, sessions: Collection[Session], now_ms: int) -> dict[TopicPartition, Sequence[Record]]:
        """That these sessions have ended."""
        made = [Record(0, now_ms, notes.encode_session(session), None) for session in sessions]
        return {TopicPartition(self._notes_topic, 0): made}


def _batches(written: Sequence[Record]) -> Iterator[bytearray]:
    some: list[Record] = []
    size = 0
    for record in written:
        length = len(record.key or b"") + len(record.value or b"")
        if some and size + length > _BATCH_BYTES:
            yield records.encode_own(some)
            some, size = [], 0
        some.append(record)
        size += length
    yield records.encode_own(some)
