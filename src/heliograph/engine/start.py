"""Where partitions without a position begin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import reading
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import LanePlan, TopicPartition

Ask = Callable[[Network, Mapping[TopicPartition, int]], dict[TopicPartition, int]]  # for the offsets of times

NOWHERE: Final = -100  # `auto.offset.reset = none`; no broker gives a number like this a meaning
WHY_NOWHERE: Final = (
    "has no position, and auto.offset.reset is none; "
    "set it to earliest or latest, or set start.timestamp.ms, to say where it begins"
)


def mirrored_topics(plan: LanePlan) -> Collection[str]:
    """The topics of which something was mirrored when the plan was made: what is added to them begins at its start.

    Not what is known since then: partitions that a new topic has from the first begin at the same time, in many lanes.
    """
    return plan.mirrored_topics | {where.topic for where in plan.positions}


def beginnings(
    source: Network,
    partitions: Collection[TopicPartition],
    settings: LaneSettings,
    mirrored: Collection[str] = (),
    ask: Ask = reading.list_many,
) -> dict[TopicPartition, int]:
    """Where partitions without a position begin; those that have no place to begin are left out.

    Partitions that were added to a topic which is `mirrored` already begin at their first record: whoever wants to
    begin at the end means the end at that time, and what came before a partition was discovered came later.
    `ask` may leave out those that it cannot ask.
    """
    begun = _group_offsets(source, partitions, settings.start_group) if settings.start_group else {}
    if settings.start == NOWHERE:
        return begun
    rest = [where for where in partitions if where not in begun]
    added = {where for where in rest if settings.start == LATEST and where.topic in mirrored}
    others = [where for where in rest if where not in added]
    return begun | first_offsets(source, added, EARLIEST, ask) | first_offsets(source, others, settings.start, ask)


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
