"""Where partitions without a position begin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import reading
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

Ask = Callable[[Network, Mapping[TopicPartition, int]], dict[TopicPartition, int]]  # for the offsets of times

NOWHERE: Final = -100  # `auto.offset.reset = none`; no broker gives a number like this a meaning
WHY_NOWHERE: Final = (
    "has no position, and auto.offset.reset is none; "
    "set it to earliest or latest, or set start.timestamp.ms, to say where it begins"
)


class Newcomers:
    """Tells which partitions were added to topics that were mirrored already.

    That a partition has no position proves nothing: with `latest`, MirrorMaker 2 writes one down with the first record,
    and one of our own lanes only when the partition has a leader. So a partition counts as added if its topic has grown
    while we looked, or since positions were written: then its number is higher than all that have one. What was found
    at the first look at a partition counts ever after, for positions of the others come and go in the meantime.
    """

    def __init__(self) -> None:
        self.added: set[TopicPartition] = set()
        self._seen: set[TopicPartition] = set()

    def look(self, partitions: Collection[TopicPartition], positions: Collection[TopicPartition]) -> None:
        """Take in which partitions there are now, and which have positions."""
        new = set(partitions) - self._seen
        if not new:
            return
        seen_topics = {where.topic for where in self._seen}
        highest: dict[str, int] = {}
        for topic, number in positions:
            highest[topic] = max(number, highest.get(topic, number))
        for where in new:
            if where.topic in seen_topics or where.partition > highest.get(where.topic, where.partition):
                self.added.add(where)
        self._seen |= new


def beginnings(
    source: Network,
    partitions: Collection[TopicPartition],
    settings: LaneSettings,
    added: Collection[TopicPartition] = (),
    ask: Ask = reading.list_many,
) -> dict[TopicPartition, int]:
    """Where partitions without a position begin; those that have no place to begin are left out.

    Partitions that were `added` to a topic which is mirrored already begin at their first record: whoever wants to
    begin at the end means the end at that time, and what came before a partition was discovered came later.
    `ask` may leave out those that it cannot ask.
    """
    begun = _group_offsets(source, partitions, settings.start_group) if settings.start_group else {}
    if settings.start == NOWHERE:
        return begun
    rest = [where for where in partitions if where not in begun]
    late = {where for where in rest if settings.start == LATEST and where in added}
    others = [where for where in rest if where not in late]
    return begun | first_offsets(source, late, EARLIEST, ask) | first_offsets(source, others, settings.start, ask)


def first_offsets(
    source: Network, partitions: Iterable[TopicPartition], start: int, ask: Ask = reading.list_many
) -> dict[TopicPartition, int]:
    """The offsets that a start stands for: earliest, latest, or a time, which is the end where nothing is as new."""
    found = ask(source, dict.fromkeys(partitions, start))
    too_late = [where for where, offset in found.items() if offset < 0]
    in_time = {where: offset for where, offset in found.items() if offset >= 0}
    return in_time | ask(source, dict.fromkeys(too_late, LATEST))


def _group_offsets(source: Network, partitions: Collection[TopicPartition], group: str) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    from heliograph.kafka.groups import Groups  # few flows begin so, and lanes start often

    with Groups(source.access) as groups:
        committed = groups.committed([group])[group]
    return {where: committed[where].offset for where in partitions if where in committed}
