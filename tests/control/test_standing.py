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
from heliograph.model import Assignment, Event, EventKind, InternalTopics, LedgerEntry, TopicPartition
from tests.zoo import raw
from tests.zoo.internal_topics import create_all, fresh_names

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


def flow_to(servers: str, topics: InternalTopics | None = None) -> FlowDriver:
    """With internal topics of its own."""
    source, target = Access("a", ["127.0.0.1:1"]), Access("b", servers.split(","))
    return FlowDriver(FlowSettings("a->b", source, target, topics or create_all(servers)), NoTopics())


@pytest.fixture
def flow(backup: EmbeddedCluster) -> FlowDriver:
    return flow_to(backup.bootstrap_servers)


def commit(flow: FlowDriver, *events: Event) -> None:
    """As if a lane had committed a transaction with these events."""
    flow.totals.add(LedgerEntry(flow.name, 0, flow.owner, 7, 0, (), events))


def told(flow: FlowDriver) -> list[LedgerEntry]:
    topic = flow.settings.topics.state
    with raw.network(",".join(flow.settings.target.bootstrap_servers), topic) as (loop, network):
        values = [record.value or b"" for _, record in reading.read_to_end(loop, network, topic, {0: 0})]
    return [entry for entry in map(entries.decode, values) if isinstance(entry, LedgerEntry)]


def test_what_is_set_aside_is_written_down_at_every_change(flow: FlowDriver) -> None:
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
    assert {(entry.lane, entry.owner) for entry in (first, second)} == {(NO_LANE, flow.owner)}


def test_a_new_owner_writes_down_again_what_is_still_set_aside(flow: FlowDriver) -> None:
    standing = Standing(flow)
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    standing.tell()
    flow.owner = "another take-over"
    assert standing.tell() == "1 set aside"


def test_readers_learn_from_it_and_take_it_for_no_event(flow: FlowDriver) -> None:
    servers = ",".join(flow.settings.target.bootstrap_servers)
    owner = raw.batch_of([entries.owner_record(flow.name, flow.owner, 1)])
    raw.append(servers, TopicPartition(flow.settings.topics.state, 0), [owner])
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    Standing(flow).tell()
    with raw.network(servers) as (loop, network):
        tail = read_tail(loop, network, flow.settings.topics, told(flow)[0].written_at_ms)
    assert (tail.owner, tail.set_aside, tail.events) == (flow.owner, {BAD: "too large"}, [])


def test_what_could_not_be_told_is_told_later(backup: EmbeddedCluster) -> None:
    names = fresh_names()
    flow = flow_to(backup.bootstrap_servers, names)
    standing = Standing(flow)
    commit(flow, Event(EventKind.SET_ASIDE, BAD, 5, -1, "too large"))
    with pytest.raises(ClusterError):
        standing.tell()
    create_all(backup.bootstrap_servers, names)
    assert standing.tell() == "1 set aside"
