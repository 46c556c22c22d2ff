"""Checkpoints: where each group of the source would go on reading on the target, for MirrorMaker 2's clients."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from heliograph.errors import BrokerRefused
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.mm2.checkpoint import Checkpoint, CheckpointKey, newest_checkpoints
from heliograph.sync.compacted_topic import CompactedTopic
from heliograph.sync.group_offsets import GroupOffsets, GroupPlaces

log = logging.getLogger(__name__)

_Written = Mapping[CheckpointKey, Checkpoint]


def newer_checkpoints(found: GroupPlaces, written: _Written) -> list[Checkpoint]:
    """Those worth writing: new ones, those further on, and those of groups that were set back on the source.

    A partition of which nothing is mirrored yet gets none.
    """
    current = (
        Checkpoint(group, place.target, item.offset, place.offset, item.metadata)
        for group, _, item, place in found.translated()
        if place.is_known
    )
    return [item for item in current if _is_newer(item, written.get((item.group, item.target)))]


def _is_newer(item: Checkpoint, before: Checkpoint | None) -> bool:
    if before is None:
        return True
    return item.upstream_offset < before.upstream_offset or item.downstream_offset > before.downstream_offset


class Checkpoints(Closeable):
    """Writes the checkpoints of one flow to its target."""

    def __init__(
        self, offsets: GroupOffsets, on_written: Callable[[Sequence[Checkpoint], float], None] = lambda *_: None
    ) -> None:
        """`on_written` is told what was written, and how many milliseconds that took."""
        flow = offsets.flow
        name = flow.replication_policy.checkpoints_topic(flow.source.alias)
        self._topic = CompactedTopic(flow, flow.target, name, "checkpoints.topic.replication.factor")
        self._flow = flow.name
        self._offsets = offsets
        self._on_written = on_written
        self._written: dict[CheckpointKey, Checkpoint] | None = None

    def run(self) -> str:
        """Write those that have changed since the last time, or since an earlier mirror wrote them."""
        if self._written is None:
            self._written = self._earlier()
        found = self._offsets.read()
        new = newer_checkpoints(found, self._written)
        began = time.monotonic()
        self._topic.append(new)
        self._on_written(new, (time.monotonic() - began) * 1000)
        self._written |= {(item.group, item.target): item for item in new}
        return f"{len(found.committed)} groups, {len(new)} written"

    def close(self) -> None:
        """Hang up."""
        self._topic.close()

    def _earlier(self) -> dict[CheckpointKey, Checkpoint]:
        """What was written before; without the right to read it, all are written once more, which does no harm."""
        try:
            return newest_checkpoints(self._topic.read())
        except BrokerRefused as error:
            log.warning("%s: earlier checkpoints cannot be read: %s", self._flow, error)
            return {}
