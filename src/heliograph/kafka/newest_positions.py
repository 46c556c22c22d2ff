"""The newest positions in an offsets topic, of which only as much of the end is read as it takes to find them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from heliograph.kafka import positions, reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition

_FIRST_STEP = 1_000  # offsets of each partition
_GROWTH = 4
_LONGEST_MS = 12 * 3_600_000  # that a summary counts

Positions = dict[TopicPartition, Position]


@dataclass(frozen=True)
class Summary:
    """All positions of one source that a partition of the offsets topic held up to an offset."""

    topic_id: UUID
    read_to: int
    at_ms: int  # when that was so
    known: Mapping[TopicPartition, Position]


Summaries = Mapping[int, Summary]  # by partition of the offsets topic
NO_SUMMARIES: Summaries = {}


class PositionReader:
    """Follows the positions of the partitions of one source."""

    def __init__(self, alias: str, topic: str) -> None:
        self.known: Positions = {}
        self.read_to: dict[int, int] = {}  # by partition of the offsets topic
        self.summaries = NO_SUMMARIES  # those that are written down
        self._alias = alias
        self._topic = topic
        self._sought: set[TopicPartition] = set()

    def follow(self, loop: Loop, network: Network, wanted: Collection[TopicPartition] | None = None) -> None:
        """Read what was committed by now; what is wanted for the first time is looked for back from the end.

        What an open transaction hides is waited for. Without `wanted`, which then must never be given, all are wanted.
        """
        unsought = None if wanted is None else set(wanted) - self._sought
        if not self.read_to:
            self.read_to = _stable_ends(network, self._topic)
            self.known = self._search(loop, network, unsought)
        elif unsought:
            found = self._search(loop, network, unsought)
            self.known |= {where: position for where, position in found.items() if where in unsought}
        self._sought |= unsought or set()
        ends = reading.list_offsets(network, self._topic, dict.fromkeys(self.read_to, LATEST))
        for number, record in reading.read_to_end(loop, network, self._topic, self.read_to):
            positions.take_in(self.known, self._alias, TopicPartition(self._topic, number), record)
        self.read_to = ends

    def _search(self, loop: Loop, network: Network, wanted: Collection[TopicPartition] | None) -> Positions:
        return _newest(loop, network, self._topic, self._alias, wanted, self.read_to, self.summaries)


def newest_positions(
    loop: Loop,
    network: Network,
    topic: str,
    alias: str,
    wanted: Collection[TopicPartition],
    summaries: Summaries = NO_SUMMARIES,
) -> Positions:
    """Those of the partitions that are wanted, as far as they have any; nothing that is hidden is waited for."""
    known = _newest(loop, network, topic, alias, wanted, _stable_ends(network, topic), summaries)
    return {where: position for where, position in known.items() if where in wanted}  # others may live beside them


def all_positions(
    loop: Loop, network: Network, topic: str, alias: str, summaries: Summaries = NO_SUMMARIES
) -> Positions:
    """The positions of all partitions of a source; nothing that is hidden is waited for.

    From the whole topic, except for what summaries tell of.
    """
    return _newest(loop, network, topic, alias, None, _stable_ends(network, topic), summaries)


def summarized(loop: Loop, network: Network, topic: str, alias: str, before: Summaries, now_ms: int) -> Summaries:
    """Summaries of all that is committed by now, by earlier ones and what came after them."""
    ends = _stable_ends(network, topic)
    known: dict[int, Positions] = {number: {} for number in ends}
    found = _newest(loop, network, topic, alias, None, ends, before)
    for where, number in _homes(alias, found, len(ends)).items():
        known[number][where] = found[where]
    topic_id = network.topic_id(topic)
    return {number: Summary(topic_id, end, now_ms, known[number]) for number, end in ends.items()}


def lately_written(loop: Loop, network: Network, topic: str, alias: str, count: int) -> set[TopicPartition]:
    """Which partitions of a source have positions among about so many of the newest records."""
    ends = _stable_ends(network, topic)
    firsts = reading.list_offsets(network, topic, dict.fromkeys(ends, EARLIEST))
    each = -(-count // len(ends))
    starts = {number: max(firsts[number], end - each) for number, end in ends.items()}
    return set(_between(loop, network, topic, alias, starts, ends, {}))


def _stable_ends(network: Network, topic: str) -> dict[int, int]:
    return reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), LATEST), READ_COMMITTED)


def _homes(alias: str, wanted: Iterable[TopicPartition], count: int) -> dict[TopicPartition, int]:
    return {where: positions.partition_for(positions.encode_key(alias, where), count) for where in wanted}


def _newest(
    loop: Loop,
    network: Network,
    topic: str,
    alias: str,
    wanted: Collection[TopicPartition] | None,
    ends: Mapping[int, int],
    summaries: Summaries,
) -> Positions:
    """Read back in growing steps until all that are wanted are found, or what summaries tell of, or the beginning.

    A compacted topic holds many old positions until it is compacted, so its beginning is best left alone.
    """
    firsts = reading.list_offsets(network, topic, dict.fromkeys(ends, EARLIEST))
    usable = _usable(summaries, network.topic_id(topic), ends)
    bottoms = firsts | {number: max(firsts[number], summary.read_to) for number, summary in usable.items()}
    if wanted is None:
        return _between(loop, network, topic, alias, bottoms, ends, _summed(usable))
    homes = _homes(alias, wanted, len(ends))
    starts, step = dict(ends), _FIRST_STEP
    known = _summed({number: usable[number] for number in usable if bottoms[number] == ends[number]})
    while unread := {
        home for where, home in homes.items() if where not in known and starts[home] > bottoms[home]
    }:  # fmt: skip
        starts.update({number: max(bottoms[number], ends[number] - step) for number in unread})
        pieces = {number: starts[number] for number in unread}
        reached = {number for number in unread & usable.keys() if starts[number] == bottoms[number]}
        base = _summed({number: usable[number] for number in reached})
        known |= _between(loop, network, topic, alias, pieces, ends, base)
        step *= _GROWTH
    return known


def _usable(summaries: Summaries, topic_id: UUID, ends: Mapping[int, int]) -> dict[int, Summary]:
    """Those of this topic, and not of one that had its name before, or that has lost its end since.

    After a day compaction removes what says that a position is gone, so nobody can tell that from an older summary.
    """
    oldest = time.time() * 1000 - _LONGEST_MS
    found = {}
    for number, summary in summaries.items():
        is_of_this_topic = topic_id.int and summary.topic_id == topic_id  # old clusters give no ids
        if is_of_this_topic and summary.read_to <= ends.get(number, -1) and summary.at_ms >= oldest:
            found[number] = summary
    return found


def _summed(summaries: Summaries) -> Positions:
    return {where: position for summary in summaries.values() for where, position in summary.known.items()}


def _between(
    loop: Loop,
    network: Network,
    topic: str,
    alias: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    base: Positions,
) -> Positions:
    """The newest between these offsets, or of `base`, which is known of what lies before.

    Of each key only the last value is decoded, for there may be millions.
    """
    newest: dict[bytes, tuple[int, Record]] = {}
    for batch in reading.read_batches(loop, network, topic, starts, ends):
        for record in records.decode(batch.magic, batch.data):
            if record.key is not None:
                newest[record.key] = batch.partition, record
    for number, record in newest.values():
        positions.take_in(base, alias, TopicPartition(topic, number), record)
    return base
