"""What version 0.1.0 has written down is read once, by the first mirror of this version that takes the flow over."""

from __future__ import annotations

import json

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.bookkeeping import Bookkeeping
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner, ProducerId
from heliograph.ledger.offset_map import Place
from heliograph.model import InternalTopics, TopicPartition
from heliograph.sync.ledger_reader import LedgerReader
from tests.zoo import raw
from tests.zoo.internal_topics import create_all

pytestmark = pytest.mark.kafka


def former(kind: str, **fields: object) -> Record:
    """A record of a ledger as version 0.1.0 wrote it."""
    content = {"kind": kind, "flow": "a->b", "owner": "old", "writtenAt": 1} | fields
    return Record(0, 1, b"a->b", json.dumps(content).encode())


def copied(producer_id: int, first: int) -> Record:
    """An entry of ten records."""
    part = {"topic": "t", "partition": 0, "target": "a.t", "runs": [[first, first + 5, 10]], "last": first + 9}
    return former("copied", lane=0, producerId=producer_id, partitions=[part | {"bytes": 100, "newest": 1}])


@pytest.fixture
def topics(backup: EmbeddedCluster) -> InternalTopics:
    """Those of a flow that only version 0.1.0 has run."""
    made = create_all(backup.bootstrap_servers)
    ledger = [former("owner"), former("producer", producerId=71), copied(71, 0), former("producer", producerId=72)]
    raw.append(backup.bootstrap_servers, TopicPartition(made.ledger, 0), [raw.batch_of([*ledger, copied(72, 10)])])
    return made


def told(cluster: EmbeddedCluster, topic: str) -> list[object]:
    access = Access("b", cluster.bootstrap_servers.split(","))
    return [entries.decode(record.value) for record in reading.read_single(access, topic)]


def test_who_wrote_is_known_before_the_flow_has_an_owner(backup: EmbeddedCluster, topics: InternalTopics) -> None:
    books = Bookkeeping("a->b", "a", Access("b", backup.bootstrap_servers.split(",")), topics)
    books.announce_owner("new")
    assert told(backup, topics.state) == [ProducerId(71), ProducerId(72), Owner("new")]
    books.announce_owner("newer")
    assert told(backup, topics.state)[3:] == [Owner("newer")]  # the ledger is read once


def test_where_its_records_went_is_still_exact(backup: EmbeddedCluster, topics: InternalTopics) -> None:
    reader = LedgerReader(Access("b", backup.bootstrap_servers.split(",")), "a", topics)
    assert reader.read({})
    assert reader.offset_map.to_target(TopicPartition("t", 0), 13) == Place(18, True)
