"""Positions as the state knows them: for each partition of the offsets topic a summary of all that it held up to there.

A position that nobody writes any more moves ever further back in the offsets topic, and only the whole topic tells that
there is none. Compaction bounds that, but it may lag behind, or be switched off. So a chore writes summaries
(`control/position_summaries.py`), and those who need positions read a summary and what came after it.

A summary tells what a committed beginning of a log holds. So it stays true whoever wrote it, and however late.
"""

from __future__ import annotations

import json
import zlib
from uuid import UUID

from heliograph.errors import MalformedRecord
from heliograph.kafka import positions, reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check
from heliograph.kafka.newest_positions import Summaries, Summary
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import PositionsPage
from heliograph.model import TopicPartition

_KIND = "positions "


def summary_record(number: int, summary: Summary) -> Record:
    """The record of the state that summarizes a partition of the offsets topic."""
    known = [[*where, positions.encode_value(position).decode()] for where, position in summary.known.items()]
    whole = {"topicId": str(summary.topic_id), "readTo": summary.read_to, "writtenAt": summary.at_ms}
    told = {"partition": number, "positions": known} | whole
    packed = zlib.compress(json.dumps(told, separators=(",", ":")).encode())
    return entries.state_record(f"{_KIND}{number}", summary.at_ms, entries.encode_positions(packed))


def unpacked(page: PositionsPage) -> tuple[int, Summary]:
    """Of which partition of the offsets topic a record tells, and what."""
    try:
        told = json.loads(zlib.decompress(page.packed))
        known = {
            TopicPartition(topic, int(number)): position
            for topic, number, value in told["positions"]
            if (position := positions.decode_value(value.encode())) is not None
        }
        summary = Summary(UUID(told["topicId"]), int(told["readTo"]), int(told["writtenAt"]), known)
        return int(told["partition"]), summary
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedRecord(f"a summary of positions is not what it should be: {error!r}") from error


def read_summaries(loop: Loop, network: Network, state: str) -> Summaries:
    """All that a state holds; none where there is no state."""
    failure = network.look_up([state]).get(state, 0)
    if failure == UNKNOWN_TOPIC:
        return {}
    check(f"{network.access.alias} topic {state}", failure)
    starts = reading.list_offsets(network, state, {0: EARLIEST})
    ends = reading.list_offsets(network, state, {0: LATEST}, READ_COMMITTED)
    newest: dict[bytes, Record] = {}
    for batch in reading.read_batches(loop, network, state, starts, ends):
        for record in records.decode(batch.magic, batch.data):
            if (record.key or b"").startswith(_KIND.encode()):
                newest[record.key or b""] = record
    return dict(found for record in newest.values() if (found := _read(state, record)) is not None)


def _read(state: str, record: Record) -> tuple[int, Summary] | None:
    page = entries.read(state, record)
    try:
        return unpacked(page) if isinstance(page, PositionsPage) else None
    except MalformedRecord as error:
        raise type(error)(f"{state}-0, offset {record.offset}: {error}") from error
