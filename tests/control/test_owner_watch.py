from __future__ import annotations

import pytest

from heliograph.control.owner_watch import OwnerWatch
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import TopicPartition
from tests.control.test_standing import flow_to
from tests.zoo import raw

pytestmark = pytest.mark.kafka


def test_whoever_takes_over_is_noticed_and_nobody_else(backup: EmbeddedCluster) -> None:
    servers = backup.bootstrap_servers
    flow = flow_to(servers)

    def write(*values: bytes) -> None:
        batch = raw.batch_of([Record(0, 1, b"a->b", value) for value in values])
        raw.append(servers, TopicPartition(flow.settings.topics.state, 0), [batch])

    write(entries.encode_owner("a->b", "an earlier one", 1))
    flow._bookkeeping.state_read_to = 1  # as if it had been ours since then
    watch = OwnerWatch(flow)
    assert watch.look() == ""
    write(entries.encode_owner("a->b", flow.owner, 2), entries.encode_producer("a->b", "lane", 7, 2))
    assert watch.look() == ""
    assert not flow.was_taken_over
    write(entries.encode_producer("a->b", "lane", 8, 3), entries.encode_owner("a->b", "another", 3))
    assert watch.look() == "the flow belongs to another now"
    assert flow.was_taken_over
