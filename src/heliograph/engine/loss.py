"""Has the source lost records that were not mirrored yet, or the target some that were? Nothing is skipped silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from heliograph.errors import BrokerUnavailable, PartitionFailed
from heliograph.kafka import reading
from heliograph.kafka.fetching import FetchPoint
from heliograph.kafka.network import Network, error_name
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Assignment, EventKind, Position, TopicPartition

_UNKNOWN_TOPIC = 3


@dataclass(frozen=True)
class Suspicion:
    """What made us ask: a position that belongs to another topic id, or a log that parted ways at an offset."""

    positioned_id: UUID | None = None
    diverged_at: int | None = None


@dataclass(frozen=True)
class Loss:
    """Records that the source no longer has: from, up to and without to; and where mirroring could go on."""

    kind: EventKind
    from_offset: int
    to_offset: int
    resume_at: int
    reason: str


def examine(source: Network, point: FetchPoint, suspicion: Suspicion) -> Loss | None:
    """Ask the source what has become of a partition; None when all is well and reading can go on.

    BrokerUnavailable when it cannot be asked now: nobody may be held up for that, so it is to be asked again later.
    """
    where = TopicPartition(point.topic, point.partition)
    failures = source.look_up([point.topic])
    if failures:
        raise PartitionFailed(where, why_missing(failures[point.topic]))
    first, end = _bounds(source, where)
    expected_id = suspicion.positioned_id or point.topic_id
    if source.topic_id(point.topic) != expected_id:
        return Loss(
            EventKind.RECREATED, point.offset, -1, first,
            f"the topic was deleted and created again; what the old one had from offset {point.offset} on is lost",
        )  # fmt: skip
    if suspicion.diverged_at is not None:
        is_known = suspicion.diverged_at < point.offset
        return _truncation(point, suspicion.diverged_at) if is_known else _rewritten(point)
    if point.offset > end:
        return _truncation(point, end)
    if point.offset < first:
        return Loss(
            EventKind.RETENTION, point.offset, first, first,
            f"offsets {point.offset} to {first - 1} were deleted on the source before they were mirrored",
        )  # fmt: skip
    if point.last_fetched_epoch > source.leader(*where).epoch:
        return _rewritten(point)
    return None


def target_losses(
    target: Network,
    assignments: Iterable[Assignment],
    known: Mapping[TopicPartition, Position],
    cut_back: Mapping[TopicPartition, int] | None = None,
) -> dict[TopicPartition, Loss]:
    """By source, which partitions of the target have lost something of what was written to them.

    `cut_back` tells where targets were seen to append at offsets that they had before. By now they may reach further
    again, with what was appended and aborted then.
    """
    written = {item.source: item.target for item in assignments if item.source in known}
    ends = reading.list_many(target, dict.fromkeys(written.values(), LATEST))
    found: dict[TopicPartition, Loss] = {}
    for source, where in written.items():
        end = min(ends[where], (cut_back or {}).get(source, ends[where]))
        loss = target_loss(known[source], where, end, target.incarnation(where.topic))
        if loss is not None:
            found[source] = loss
    return found


def target_loss(position: Position, target: TopicPartition, end: int, topic_id: str = "") -> Loss | None:
    """What the target has lost of what a position says was written there.

    It is another topic, or it ends before that, or did so once and nobody has said since that mirroring may go on.
    """
    written_to = position.target_offset
    if written_to < 0:
        return None
    if topic_id and position.target_topic_id not in ("", topic_id):
        first = 0
        reason = (
            f"{target} on the target is not the topic that had been written to up to offset {written_to}: that was "
            "deleted and created again, or has another name, and what was mirrored to it is not there"
        )
    else:
        first = end if position.target_lost_from < 0 else position.target_lost_from
        reason = (
            f"{target} on the target ends at offset {first}, though it had been written up to offset {written_to}: "
            "it was created anew or cut back, and what was mirrored there is lost"
        )
    if written_to < first:
        return None
    return Loss(EventKind.TARGET_LOSS, first, written_to + 1, position.offset + 1, reason)


def why_missing(error_code: int) -> str:
    """Why a topic cannot be read, from the source's answer to the question who leads it; always in the same words."""
    if error_code == _UNKNOWN_TOPIC:
        return "the topic is gone on the source"
    return f"the source answers {error_name(error_code)} for the topic"


def _truncation(point: FetchPoint, end: int) -> Loss:
    reason = f"the source's log was cut back to offset {end}; offsets {end} to {point.offset - 1} had been mirrored"
    return Loss(EventKind.TRUNCATION, end, point.offset, end, reason)


def _rewritten(point: FetchPoint) -> Loss:
    """The source does not know the epoch that was read last, and so cannot tell where its log parted ways."""
    what = "what had been mirrored is not its own any more"
    reason = f"the source's log was written anew somewhere before offset {point.offset}; {what}"
    return Loss(EventKind.TRUNCATION, point.offset, point.offset, point.offset, reason)


def _bounds(source: Network, where: TopicPartition) -> tuple[int, int]:
    return _bound(source, where, EARLIEST), _bound(source, where, LATEST)


def _bound(source: Network, where: TopicPartition, which: int) -> int:
    found = reading.list_soon(source, {where: which})
    if where in found.failures:
        raise BrokerUnavailable(f"{source.access.alias} {where}: {found.failures[where]}")
    return found.offsets[where]
