"""Records that could not be transformed, with the reason in headers under Kafka Connect's names."""

from __future__ import annotations

from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.transforms.chain import Failed

_PREFIX = "__connect.errors."


def dead_letter(record: Record, source: TopicPartition, flow: str, failed: Failed, shows_content: bool) -> Record:
    """The record as it was, or only where it is; and what went wrong."""
    causes = {
        "topic": source.topic,
        "partition": str(source.partition),
        "offset": str(record.offset),
        "connector.name": flow,
        "stage": failed.stage,
        "class.name": failed.class_name,
        "exception.class.name": type(failed.error).__name__,
        "exception.message": str(failed.error),
    }
    headers = [(_PREFIX + name, text.encode()) for name, text in causes.items()]
    if not shows_content:
        return Record(record.offset, record.timestamp, None, None, headers)
    return Record(record.offset, record.timestamp, record.key, record.value, [*record.headers, *headers])
