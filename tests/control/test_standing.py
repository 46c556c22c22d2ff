from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from heliograph.control.ledger_tail import read_tail
from heliograph.control.standing import NO_LANE, Standing
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.settings import FlowSettings
from heliograph.errors import ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.ledger import entries
from heliograph.model import Assignment, Event, EventKind, LedgerEntry, TopicPartition
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

BAD = TopicPartition("t", 3)


class NoTopics:
    """A flow that is not run needs none."""

    def prepare(self) -> None:
        """Nothing to create."""

    def find(self, set_aside: Collection[TopicPartition] = ()) -> Sequence[Assignment]:
        return ()

    def transactional_ids(self, prefix: str) -> Collection[str]:
        return ()


def flow_to(servers: str, ledger_topic: str) -> FlowDriver:
    source, target = Access("a", ["127.0.0.1:1"]), Access("b", servers.split(","))
    return FlowDriver(FlowSettings("a->b", source, target, "offsets", ledger_topic), NoTopics())


@pytest.fixture
def flow(backup: EmbeddedCluster) -> FlowDriver:
    return flow_to(backup.bootstrap_servers, create_topic(backup.bootstrap_servers, fresh_name("ledger")))


def commit(flow: FlowDriver, *events: Event) -> None:
    """As if a lane had committed a transaction with these events."""
    flow.totals.add(LedgerEntry(flow.name, 0, flow.owner, 7, 0, (), events))


def told(flow: FlowDriver) -> list[LedgerEntry]:
    topic = flow.settings.ledger_topic
    with raw.network(",".join(flow.settings.target.bootstrap_servers), topic) as (loop, network):
        values = [record.value or b"" for _, record in reading.read_to_end(loop, network, topic, {0: 0})]
    return [entry for entry in map(entries.decode, values) if isinstance(entry, LedgerEntry)]


def test_what_is_set_aside_is_told_again_whenever_the_ledger_has_grown(flow: FlowDriver) -> None:
    standing = Standing(flow)
    assert standing.tell() == ""
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    assert standing.tell() == "1 set aside"
    assert standing.tell() == ""
    commit(flow, Event(EventKind.RESUMED, BAD, 5, -1, "goes on"))
    assert standing.tell() == "0 set aside"
    first, second = told(flow)
    assert first.events == (Event(EventKind.SET_ASIDE, BAD, -1, -1, "too large"),)
    assert second.events == ()
    assert {(entry.lane, entry.owner, entry.producer_id) for entry in (first, second)} == {(NO_LANE, flow.owner, 7)}


def test_readers_of_the_ledger_learn_from_it_and_take_it_for_no_event(flow: FlowDriver) -> None:
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    Standing(flow).tell()
    topic = flow.settings.ledger_topic
    with raw.network(",".join(flow.settings.target.bootstrap_servers), topic) as (loop, network):
        tail = read_tail(loop, network, topic, told(flow)[0].written_at_ms)
    assert (tail.owner, tail.set_aside, tail.events) == (flow.owner, {BAD: "too large"}, [])


def test_what_could_not_be_told_is_told_later(backup: EmbeddedCluster) -> None:
    topic = fresh_name("ledger")
    flow = flow_to(backup.bootstrap_servers, topic)
    standing = Standing(flow)
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    with pytest.raises(ClusterError):
        standing.tell()
    create_topic(backup.bootstrap_servers, topic)
    assert standing.tell() == "1 set aside"
