"""When it is not known who writes for a flow, nobody may be taken for a stranger."""

from __future__ import annotations

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.ledger import entries
from heliograph.ledger.writers import LedgerWriters
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

SOME_ID = 4711


def test_a_flow_without_a_ledger_has_not_begun_and_may_later(primary: EmbeddedCluster) -> None:
    name = fresh_name("ledger")
    with raw.network(primary.bootstrap_servers) as connected:
        writers = LedgerWriters(*connected, name)
        assert not writers.wrote(SOME_ID)
        create_topic(primary.bootstrap_servers, name)
        value = entries.encode_producer("a->b", "owner", SOME_ID + 1, 0)
        batch = raw.batch_of([entries.record("a->b", 0, value)])
        raw.append(primary.bootstrap_servers, TopicPartition(name, 0), [batch])
        assert writers.wrote(SOME_ID + 1)


def test_a_ledger_that_cannot_be_asked_for_is_no_flow_that_has_not_begun(primary: EmbeddedCluster) -> None:
    with raw.network(primary.bootstrap_servers) as connected:
        writers = LedgerWriters(*connected, "no name of a topic!")
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)  # nor is the id remembered as somebody else's
