"""Where groups of another cluster go on reading, gathered from checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from heliograph.errors import MalformedRecord
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)


class OffsetAndMetadata(NamedTuple):
    """The offset of the next record that a group reads, and what the group said when it committed."""

    offset: int
    metadata: str


GroupOffsets: TypeAlias = dict[TopicPartition, OffsetAndMetadata]


def latest_offsets(records: Iterable[Record], is_wanted: Callable[[str], bool]) -> dict[str, GroupOffsets]:
    """The newest offsets of each wanted group; records that cannot be read are left out and logged."""
    found: dict[str, GroupOffsets] = {}
    for record in records:
        try:
            _take(found, record, is_wanted)
        except MalformedRecord as error:
            log.warning("record %d of the checkpoints is left out: %s", record.offset, error)
    return {group: offsets for group, offsets in found.items() if offsets}


def _take(found: dict[str, GroupOffsets], record: Record, is_wanted: Callable[[str], bool]) -> None:
    group, target = Checkpoint.decode_key(record.key)
    if not is_wanted(group):
        return
    offsets = found.setdefault(group, {})
    if record.value is None:
        offsets.pop(target, None)
        return
    checkpoint = Checkpoint.decode(record.key, record.value)
    offsets[target] = OffsetAndMetadata(checkpoint.downstream_offset, checkpoint.metadata)
