"""When it is not known who writes for a flow, nobody may be taken for a stranger."""

from __future__ import annotations

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka.records import Record
from heliograph.ledger.writers import FlowWriters
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.internal_topics import announce, create_all, fresh_names

pytestmark = pytest.mark.kafka

SOME_ID = 4711


def test_a_flow_without_state_has_not_begun_and_may_later(primary: EmbeddedCluster) -> None:
    names = fresh_names()
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, names)
        assert not writers.wrote(SOME_ID)
        create_all(primary.bootstrap_servers, names)
        assert not writers.wrote(SOME_ID + 2)  # the topics alone say nothing
        announce(primary.bootstrap_servers, names, SOME_ID + 1)
        assert writers.wrote(SOME_ID + 1)
        assert writers.all() == {SOME_ID + 1}


def test_a_state_that_cannot_be_asked_for_is_no_flow_that_has_not_begun(primary: EmbeddedCluster) -> None:
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, fresh_names()._replace(state="no name of a topic!"))
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)
        with pytest.raises(BrokerRefused, match="no name of a topic!"):
            writers.wrote(SOME_ID)  # nor is the id remembered as somebody else's


def test_a_ledger_of_version_0_1_0_must_be_taken_over_first(primary: EmbeddedCluster) -> None:
    names = create_all(primary.bootstrap_servers)
    former = b'{"kind":"producer","flow":"a->b","writtenAt":1,"owner":"me","producerId":4711}'
    batch = raw.batch_of([Record(0, 1, b"a->b", former)])
    raw.append(primary.bootstrap_servers, TopicPartition(names.ledger, 0), [batch])
    with raw.network(primary.bootstrap_servers) as connected:
        writers = FlowWriters(*connected, names)
        with pytest.raises(BrokerUnavailable, match=r"was written by Heliograph 0\.1\.0"):
            writers.wrote(SOME_ID)
        announce(primary.bootstrap_servers, names, SOME_ID)
        assert writers.wrote(SOME_ID)
