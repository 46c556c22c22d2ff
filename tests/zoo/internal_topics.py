"""The topics in which a flow keeps what it must know, for tests of a part that needs some of them."""

from __future__ import annotations

from heliograph.kafka.access import Access
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import InternalTopics, TopicPartition
from tests.zoo.topics import create_topic, fresh_name


def fresh_names() -> InternalTopics:
    """Names that no other test uses."""
    return InternalTopics(*(fresh_name(kind.replace("_", "-")) for kind in InternalTopics._fields))


def create_all(servers: str, names: InternalTopics | None = None, offsets_partitions: int = 1) -> InternalTopics:
    """Create all of them."""
    names = names or fresh_names()
    compacted = {"cleanup.policy": "compact"}
    create_topic(servers, names.offsets, offsets_partitions, compacted)
    create_topic(servers, names.offset_map, settings=compacted)
    create_topic(servers, names.state, settings=compacted)
    create_topic(servers, names.ledger)
    create_topic(servers, names.journal)
    create_topic(servers, names.declarations, settings=compacted)
    return names


def announce(servers: str, names: InternalTopics, *producer_ids: int) -> None:
    """As lanes of a flow that has been taken over do."""
    now_ms = 1_700_000_000_000
    told = [entries.owner_record("a->b", "test", now_ms)]
    told += [entries.producer_record("a->b", "test", number, now_ms) for number in producer_ids]
    with Writer(Access("here", servers.split(","))) as writer:
        writer.append(TopicPartition(names.state, 0), told)
