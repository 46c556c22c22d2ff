"""Rights on one topic of the target that are taken away: it is set aside with the reason, and the others flow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.engine import lane as lane_module
from heliograph.engine.lane import Lane
from heliograph.engine.settings import LaneSettings
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.network import NOT_AUTHORISED, Network, opened
from heliograph.model import Event, EventKind, LanePlan, LedgerEntry, TopicPartition
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import OFFSETS_PARTITIONS, QUICK, TOPICS
from tests.engine.ward import Ward
from tests.waiting import wait_until
from tests.zoo.internal_topics import create_all
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka


@dataclass
class GuardedWard(Ward):
    """A ward whose target asks who somebody is."""

    login: Access | None = None

    def lane(
        self, should_end: Callable[[], bool], settings: LaneSettings = QUICK, plan: LanePlan | None = None
    ) -> Generator[LedgerEntry, None, None]:
        source = Access("primary", self.stations.source.split(","))
        assert self.login is not None
        yield from Lane(plan or self.plan(), source, self.login, settings, should_end).run()


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    spec = ClusterSpec("guarded", listeners=[listener], settings=ACCESS_CONTROL)
    with running_clusters(spec) as (cluster,):
        create_all(cluster.bootstrap_servers, TOPICS, OFFSETS_PARTITIONS)
        with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
            for kind, name in (
                (ResourceType.TOPIC, "*"),
                (ResourceType.TRANSACTIONAL_ID, "*"),
                (ResourceType.CLUSTER, "kafka-cluster"),
            ):
                admin.create_acls([rule(kind, name, ACLPermissionType.ALLOW)])
        yield cluster


def rule(kind: ResourceType, name: str, permission: ACLPermissionType) -> ACL:
    pattern = ResourcePattern(kind, name, ACLResourcePatternType.LITERAL)
    return ACL("User:mirror", "*", ACLOperation.ALL, permission, pattern)


def lifted(name: str) -> ACLFilter:
    pattern = ResourcePattern(ResourceType.TOPIC, name, ACLResourcePatternType.LITERAL)
    return ACLFilter("User:mirror", "*", ACLOperation.ALL, ACLPermissionType.DENY, pattern)


def answer_of(login: Access, topic: str) -> int:
    """What the target says of a topic to who mirrors."""
    with opened(login) as (_, network):
        seen: Network = network
        return seen.look_up([topic]).get(topic, 0)


def test_a_topic_that_nobody_may_see_any_more_holds_up_no_other(
    primary: EmbeddedCluster, guarded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_module, "_FIRST_REST", 1.0)
    names = [create_topic(primary.bootstrap_servers, fresh_name("seen")) for _ in range(2)]
    copies = [create_topic(guarded.bootstrap_servers, f"primary.{name}") for name in names]
    pairs = {TopicPartition(name, 0): TopicPartition(copy, 0) for name, copy in zip(names, copies, strict=True)}
    stations = Stations(primary.bootstrap_servers, guarded.bootstrap_servers)
    credentials = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    login = Access("backup", guarded.addresses("CLIENTS").split(","), credentials=credentials)
    with (
        CommittedReader(guarded.bootstrap_servers) as reader,
        closing(KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers)) as admin,
    ):
        ward = GuardedWard(stations, pairs, f"lane-of-{names[0]}", reader, 0, login)
        wait_until(lambda: answer_of(login, copies[1]) == 0, "the rights")
        admin.create_acls([rule(ResourceType.TOPIC, copies[0], ACLPermissionType.DENY)])
        wait_until(lambda: answer_of(login, copies[0]) == NOT_AUTHORISED, "the rights to be gone")
        for where in pairs:
            ward.feed(where, range(5))
        with ward.lane_walk() as walk:
            walk.until_copied({ward.well: 5})
            [aside] = walk.until_told(1)
            assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
            assert aside.reason == (
                f"the target answers TOPIC_AUTHORIZATION_FAILED for the topic {copies[0]}; it goes on when that is over"
            )
            admin.delete_acls([lifted(copies[0])])
            walk.until_copied({ward.bad: 5})
        assert ward.events() == [aside, Event(EventKind.RESUMED, ward.bad, 0, -1, "goes on")]
