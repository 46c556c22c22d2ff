"""What our API shows that the process does not know itself: it asks the clusters, which may take a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from heliograph.control.ledger_tail import read_tail
from heliograph.control.rest.answers import (
    GroupAnswer,
    GroupPlaceAnswer,
    GroupsAnswer,
    LeftOutAnswer,
    PlanAnswer,
    PlannedTopicAnswer,
    RangeAnswer,
)
from heliograph.control.running_flow import RunningFlow
from heliograph.errors import ClusterError
from heliograph.kafka import reading, records
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.groups import Groups, Offsets
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import entries
from heliograph.model import Event, LedgerEntry, TopicPartition
from heliograph.sync.group_offsets import GroupPlaces
from heliograph.sync.topics import TopicPlan, ledger_topic, read_plan
from heliograph.sync.translation import Translation

_STEP = 20_000  # offsets of a ledger that are read at once
_FURTHEST = 200_000  # and in all: a partition at rest may have its last entry weeks ago

_Answer = TypeVar("_Answer")


class Recent(Generic[_Answer]):
    """Remembers an answer for some seconds, so that many who ask do not burden the clusters."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._answers: dict[str, tuple[float, _Answer]] = {}

    def get(self, flow: RunningFlow, read: Callable[[RunningFlow], _Answer]) -> _Answer:
        """The answer for a flow, read anew if it is too old."""
        known = self._answers.get(flow.name)
        if known is not None and time.monotonic() - known[0] < self._seconds:
            return known[1]
        answer = read(flow)
        self._answers[flow.name] = (time.monotonic(), answer)
        return answer


def read_groups(flow: RunningFlow) -> GroupsAnswer:
    """Where every followed group stands on both sides."""
    now_ms = int(time.time() * 1000)
    found = flow.groups.read()
    with Groups(access_for(flow.config.target, "admin")) as groups:
        current = groups.committed(list(found.committed))
    source_ends = _ends(flow, "source", {where for offsets in found.committed.values() for where in offsets})
    target_ends = _ends(flow, "target", {place.target for place in found.places.values()})
    return GroupsAnswer(
        read_at_ms=now_ms,
        groups=[
            GroupAnswer(
                group=name, partitions=list(_group_places(name, found, current.get(name, {}), source_ends, target_ends))
            )
            for name in sorted(found.committed)
        ],
    )


def _ends(flow: RunningFlow, side: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Where partitions end that still exist; a group may have committed for others."""
    cluster = flow.config.source if side == "source" else flow.config.target
    wanted = list(partitions)
    with Admin(access_for(cluster, "admin")) as admin:
        topics = admin.topics(sorted({where.topic for where in wanted}))
        return admin.end_offsets(
            [where for where in wanted if where.topic in topics and where.partition < topics[where.topic].partitions]
        )


def _group_places(
    name: str,
    found: GroupPlaces,
    current: Offsets,
    source_ends: Mapping[TopicPartition, int],
    target_ends: Mapping[TopicPartition, int],
) -> Iterable[GroupPlaceAnswer]:
    for where, item in sorted(found.committed[name].items()):
        place = found.places.get((where, item.offset))
        there = current.get(place.target) if place else None
        yield GroupPlaceAnswer(
            topic=where.topic,
            partition=where.partition,
            source_offset=item.offset,
            source_lag=max(0, source_ends.get(where, item.offset) - item.offset),
            target_topic=place.target.topic if place else "",
            target_offset=there.offset if there else None,
            translated_offset=place.offset if place else None,
            is_exact=bool(place and place.is_exact),
            target_lag=_target_lag(place, there.offset if there else None, target_ends),
        )


def _target_lag(place: Translation | None, committed: int | None, ends: Mapping[TopicPartition, int]) -> int | None:
    if place is None or place.target not in ends:
        return None
    return max(0, ends[place.target] - (place.offset if committed is None else committed))


def read_plan_view(flow: RunningFlow) -> PlanAnswer:
    """What a flow mirrors to where, and what not."""
    config = flow.config
    if not config.enabled:
        return PlanAnswer(topics=[], left_out=[], problems=["the flow only writes heartbeats"])
    with Admin(access_for(config.source, "admin")) as source, Admin(access_for(config.target, "admin")) as target:
        return _plan(read_plan(config, source, target))


def _plan(plan: TopicPlan) -> PlanAnswer:
    counts: dict[str, int] = {}
    for where in plan.mirrored:
        counts[where.topic] = counts.get(where.topic, 0) + 1
    lacking = {topic.name: "to be created" for topic in plan.create} | {item.topic: "to grow" for item in plan.grow}
    return PlanAnswer(
        topics=[
            PlannedTopicAnswer(
                topic=name, target_topic=remote, partitions=counts.get(name, 0), state=lacking.get(remote, "mirrored")
            )
            for name, remote in sorted(plan.names.items())
        ],
        left_out=[LeftOutAnswer(topic=item.topic, reason=item.reason.value) for item in plan.skipped],
        problems=[str(problem) for problem in plan.problems],
    )


def read_events(flow: RunningFlow) -> list[Event]:
    """What has happened within the last day, from the journal; from memory while that cannot be read."""
    if flow.driver is None:
        return []
    topics = flow.driver.settings.topics
    try:
        with opened(access_for(flow.config.target, "admin")) as (loop, network):
            return list(read_tail(loop, network, topics, int(time.time() * 1000)).events)
    except ClusterError:
        return list(flow.events())


def read_ranges(flow: RunningFlow, where: TopicPartition, limit: int) -> list[RangeAnswer]:
    """Where the last records of a source partition went, the newest range first."""
    topic = ledger_topic(flow.config)
    ranges: list[RangeAnswer] = []
    with opened(access_for(flow.config.target, "admin"), [topic]) as (loop, network):
        first = reading.list_offsets(network, topic, {0: EARLIEST})[0]
        end = reading.list_offsets(network, topic, {0: LATEST}, READ_COMMITTED)[0]
        furthest = max(first, end - _FURTHEST)
        while end > furthest and len(ranges) < limit:
            start = max(furthest, end - _STEP)
            found: list[RangeAnswer] = []
            for batch in reading.read_batches(loop, network, topic, {0: start}, {0: end}):
                for record in records.decode(batch.magic, batch.data):
                    if start <= record.offset < end:
                        found.extend(_ranges(record.value, where))
            ranges.extend(reversed(found))
            end = start
    return ranges[:limit]


def _ranges(value: bytes | None, where: TopicPartition) -> Iterable[RangeAnswer]:
    entry = entries.decode(value)
    if not isinstance(entry, LedgerEntry):
        return
    for progress in entry.partitions:
        if progress.source == where:
            for run in progress.runs:
                yield RangeAnswer(
                    source_offset=run.source,
                    target_offset=run.target,
                    length=run.length,
                    written_at_ms=entry.written_at_ms,
                    lane=entry.lane,
                )
