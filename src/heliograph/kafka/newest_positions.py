"""The newest positions in an offsets topic, of which only as much of the end is read as it takes to find them."""

from __future__ import annotations

from collections.abc import Collection

from heliograph.kafka import positions, reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Position, TopicPartition

_FIRST_STEP = 1_000  # offsets of each partition
_GROWTH = 4


def newest_positions(
    loop: Loop, network: Network, topic: str, alias: str, wanted: Collection[TopicPartition]
) -> dict[TopicPartition, Position]:
    """Read back in growing steps until all that are wanted are found; what an open transaction hides is not waited for.

    A compacted topic holds many old positions until it is compacted, so its beginning is best left alone.
    """
    numbers = network.partitions(topic)
    firsts = reading.list_offsets(network, topic, dict.fromkeys(numbers, EARLIEST))
    ends = reading.list_offsets(network, topic, dict.fromkeys(numbers, LATEST), READ_COMMITTED)
    homes = {where: positions.partition_for(positions.encode_key(alias, where), len(numbers)) for where in wanted}
    known: dict[TopicPartition, Position] = {}
    starts, step = dict(ends), _FIRST_STEP
    while unread := {
        home for where, home in homes.items() if where not in known and starts[home] > firsts[home]
    }:  # fmt: skip
        starts.update({number: max(firsts[number], ends[number] - step) for number in unread})
        chosen = {number: starts[number] for number in unread}
        for batch in reading.read_batches(loop, network, topic, chosen, ends):
            for record in records.decode(batch.magic, batch.data):
                positions.apply(known, alias, record.key, record.value)
        step *= _GROWTH
    return {where: position for where, position in known.items() if where in homes}  # others may live beside them


def all_positions(loop: Loop, network: Network, topic: str, alias: str) -> dict[TopicPartition, Position]:
    """The positions of all partitions of a source, from the whole topic; nothing that is hidden is waited for."""
    numbers = network.partitions(topic)
    firsts = reading.list_offsets(network, topic, dict.fromkeys(numbers, EARLIEST))
    ends = reading.list_offsets(network, topic, dict.fromkeys(numbers, LATEST), READ_COMMITTED)
    known: dict[TopicPartition, Position] = {}
    for batch in reading.read_batches(loop, network, topic, firsts, ends):
        for record in records.decode(batch.magic, batch.data):
            positions.apply(known, alias, record.key, record.value)
    return known
