"""The newest positions in an offsets topic, of which only as much of the end is read as it takes to find them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heliograph.kafka import positions, reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Position, TopicPartition

_FIRST_STEP = 1_000  # offsets of each partition
_GROWTH = 4


class PositionReader:
    """Follows the positions of the partitions of one source."""

    def __init__(self, alias: str, topic: str) -> None:
        self.known: dict[TopicPartition, Position] = {}
        self.read_to: dict[int, int] = {}  # by partition of the offsets topic
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
            self.known = _newest(loop, network, self._topic, self._alias, unsought, self.read_to)
        elif unsought:
            found = _newest(loop, network, self._topic, self._alias, unsought, self.read_to)
            self.known |= {where: position for where, position in found.items() if where in unsought}
        self._sought |= unsought or set()
        ends = reading.list_offsets(network, self._topic, dict.fromkeys(self.read_to, LATEST))
        for _, record in reading.read_to_end(loop, network, self._topic, self.read_to):
            positions.apply(self.known, self._alias, record.key, record.value)
        self.read_to = ends


def newest_positions(
    loop: Loop, network: Network, topic: str, alias: str, wanted: Collection[TopicPartition]
) -> dict[TopicPartition, Position]:
    """Those of the partitions that are wanted, as far as they have any; nothing that is hidden is waited for."""
    known = _newest(loop, network, topic, alias, wanted, _stable_ends(network, topic))
    return {where: position for where, position in known.items() if where in wanted}  # others may live beside them


def all_positions(loop: Loop, network: Network, topic: str, alias: str) -> dict[TopicPartition, Position]:
    """The positions of all partitions of a source, from the whole topic; nothing that is hidden is waited for."""
    return _newest(loop, network, topic, alias, None, _stable_ends(network, topic))


def _stable_ends(network: Network, topic: str) -> dict[int, int]:
    return reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), LATEST), READ_COMMITTED)


def _newest(
    loop: Loop,
    network: Network,
    topic: str,
    alias: str,
    wanted: Collection[TopicPartition] | None,
    ends: Mapping[int, int],
) -> dict[TopicPartition, Position]:
    """Read back in growing steps until all that are wanted are found, or the whole topic where all are.

    A compacted topic holds many old positions until it is compacted, so its beginning is best left alone.
    """
    firsts = reading.list_offsets(network, topic, dict.fromkeys(ends, EARLIEST))
    if wanted is None:
        return _between(loop, network, topic, alias, firsts, ends)
    homes = {where: positions.partition_for(positions.encode_key(alias, where), len(ends)) for where in wanted}
    known: dict[TopicPartition, Position] = {}
    starts, step = dict(ends), _FIRST_STEP
    while unread := {
        home for where, home in homes.items() if where not in known and starts[home] > firsts[home]
    }:  # fmt: skip
        starts.update({number: max(firsts[number], ends[number] - step) for number in unread})
        known |= _between(loop, network, topic, alias, {number: starts[number] for number in unread}, ends)
        step *= _GROWTH
    return known


def _between(
    loop: Loop, network: Network, topic: str, alias: str, starts: Mapping[int, int], ends: Mapping[int, int]
) -> dict[TopicPartition, Position]:
    """The newest between these offsets; of each key only the last value is decoded, for there may be millions."""
    newest: dict[bytes, bytes | None] = {}
    for batch in reading.read_batches(loop, network, topic, starts, ends):
        for record in records.decode(batch.magic, batch.data):
            if record.key is not None:
                newest[record.key] = record.value
    known: dict[TopicPartition, Position] = {}
    for key, value in newest.items():
        positions.apply(known, alias, key, value)
    return known
