"""Which topics are mirrored, and what the target needs for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, SettingSource, Status, TopicInfo, TopicSetting
from heliograph.model import TopicPartition
from heliograph.policy.replication import DefaultReplicationPolicy
from heliograph.sync.topics import (
    Growth,
    Skipped,
    SkipReason,
    TopicPlan,
    apply_topics,
    carried_settings,
    create_topics,
    internal_topics,
    ledger_topic,
    missing_topics,
    plan_topics,
    read_plan,
)

FlowMaker = Callable[..., FlowConfig]
IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"


def infos(**counts: int) -> dict[str, TopicInfo]:
    names = {name.replace("__", "."): count for name, count in counts.items()}
    return {name: TopicInfo(name, UUID(int=1), count, 1) for name, count in names.items()}


def named(*names: str) -> dict[str, TopicInfo]:
    return {name: TopicInfo(name, UUID(int=1), 1, 1) for name in names}


def plan(flow: FlowConfig, source: dict[str, TopicInfo], target: dict[str, TopicInfo] | None = None) -> TopicPlan:
    return plan_topics(flow, source, target or {}, {})


# -- what is mirrored --------------------------------------------------------------------------------------


def test_every_partition_keeps_its_number_under_the_remote_name(make_flow: FlowMaker) -> None:
    found = plan(make_flow(), infos(orders=2))
    assert found.names == {"orders": "a.orders"}
    assert found.mirrored == {
        TopicPartition("orders", 0): TopicPartition("a.orders", 0),
        TopicPartition("orders", 1): TopicPartition("a.orders", 1),
    }


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("__consumer_offsets", SkipReason.INTERNAL),
        ("mm2-offsets.b.internal", SkipReason.INTERNAL),
        ("b.checkpoints.internal", SkipReason.INTERNAL),
        ("b.orders", SkipReason.CYCLE),
        ("c.b.orders", SkipReason.CYCLE),
        ("a.orders", SkipReason.CYCLE),
        ("b.heartbeats", SkipReason.CYCLE),
        ("payments", SkipReason.FILTER),
        ("orders-secret", SkipReason.FILTER),
    ],
)
def test_a_topic_is_skipped_for_a_reason(make_flow: FlowMaker, topic: str, reason: SkipReason) -> None:
    flow = make_flow("topics=.*orders.*\ntopics.exclude=.*secret\n")
    found = plan(flow, named(topic))
    assert found.skipped == (Skipped(topic, reason),)
    assert not found.mirrored
    assert not found.create


def test_heartbeats_need_not_pass_the_filter(make_flow: FlowMaker) -> None:
    topics = named("heartbeats", "c.heartbeats")
    assert list(plan(make_flow("topics=none\n"), topics).names) == ["c.heartbeats", "heartbeats"]
    without = make_flow("topics=none\nheartbeats.replication.enabled=false\n")
    assert plan(without, topics).names == {}


def test_under_the_identity_policy_names_stay(make_flow: FlowMaker) -> None:
    found = plan(make_flow(IDENTITY), named("orders", "b.orders", "heartbeats"))
    assert found.names == {"orders": "orders", "b.orders": "b.orders", "heartbeats": "a.heartbeats"}


class _LowerCase(DefaultReplicationPolicy):
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return super().format_remote_topic(source_alias, topic).lower()


def test_topics_that_would_share_a_name_are_a_problem_and_not_mirrored(make_flow: FlowMaker) -> None:
    flow = replace(make_flow(), replication_policy=_LowerCase())
    found = plan(flow, named("Orders", "orders", "payments"))
    assert found.names == {"payments": "a.payments"}
    assert [topic.name for topic in found.create] == ["a.payments"]
    (problem,) = found.problems
    assert (problem.topics, problem.target) == (("Orders", "orders"), "a.orders")
    assert str(problem) == "Orders, orders: all would become a.orders on the target; none is mirrored"
    assert not found.is_complete


def test_a_name_that_kafka_refuses_is_a_problem(make_flow: FlowMaker) -> None:
    found = plan(make_flow(), named("x" * 247, "y" * 248))
    assert list(found.names) == ["x" * 247]
    assert found.problems[0].topics == ("y" * 248,)


# -- what the target needs ---------------------------------------------------------------------------------


def test_a_missing_topic_is_created_like_its_source(make_flow: FlowMaker) -> None:
    settings = {"orders": {"retention.ms": TopicSetting("5"), "min.insync.replicas": TopicSetting("2")}}
    found = plan_topics(make_flow("replication.factor=3\n"), infos(orders=4), {}, settings)
    assert found.create == (NewTopic("a.orders", 4, 3, {"retention.ms": "5"}),)
    assert found.grow == ()


@pytest.mark.parametrize(
    ("source", "target", "growth"),
    [(3, 1, (Growth("a.orders", 1, 3),)), (3, 3, ()), (1, 3, ())],
)
def test_topics_grow_and_never_shrink(
    make_flow: FlowMaker, source: int, target: int, growth: tuple[Growth, ...]
) -> None:
    found = plan(make_flow(), infos(orders=source), infos(a__orders=target))
    assert found.grow == growth
    assert found.create == ()
    assert found.is_complete == (not growth)


def test_only_partitions_that_exist_on_the_target_are_ready(make_flow: FlowMaker) -> None:
    found = plan(make_flow(), infos(orders=3, payments=1), infos(a__orders=2))
    ready = found.ready_on(infos(a__orders=2))
    assert list(ready) == [TopicPartition("orders", 0), TopicPartition("orders", 1)]


def test_settings_are_asked_only_of_topics_that_the_target_lacks(make_flow: FlowMaker) -> None:
    source = ["orders", "payments", "__consumer_offsets"]
    assert missing_topics(make_flow(), source, ["a.orders", "payments"]) == ["payments"]


@pytest.mark.parametrize(
    ("setting", "is_carried"),
    [
        (TopicSetting("1"), True),
        (TopicSetting("1", SettingSource.DYNAMIC_BROKER_DEFAULT), True),
        (TopicSetting("1", SettingSource.DEFAULT), False),
        (TopicSetting("1", SettingSource.STATIC_BROKER), False),
        (TopicSetting("1", is_read_only=True), False),
        (TopicSetting(None, is_sensitive=True), False),
        (TopicSetting("1", is_sensitive=True), False),
    ],
)
def test_chosen_settings_are_carried_over(make_flow: FlowMaker, setting: TopicSetting, is_carried: bool) -> None:
    assert ("flush.ms" in carried_settings(make_flow(), {"flush.ms": setting})) == is_carried


def test_excluded_settings_are_not_carried_over(make_flow: FlowMaker) -> None:
    flow = make_flow("config.properties.exclude=flush.*\n")
    assert carried_settings(flow, {"flush.ms": TopicSetting("1"), "segment.ms": TopicSetting("2")}) == {
        "segment.ms": "2"
    }


def test_defaults_of_the_source_are_carried_over_if_asked_for(make_flow: FlowMaker) -> None:
    flow = make_flow("a->b.use.defaults.from=source\n")
    assert carried_settings(flow, {"flush.ms": TopicSetting("1", SettingSource.DEFAULT)}) == {"flush.ms": "1"}


# -- internal topics ---------------------------------------------------------------------------------------


def test_positions_and_ledger_have_topics_of_their_own(make_flow: FlowMaker) -> None:
    text = "offset.storage.replication.factor=1\nledger.topic.replication.factor=2\n"
    offsets, ledger, offset_map, state, journal, declarations = internal_topics(make_flow(text))
    settings = {"cleanup.policy": "compact", "segment.bytes": str(1024 * 1024)}
    assert offsets == NewTopic("mm2-offsets.a.internal", 25, 1, settings)
    assert (ledger.name, ledger.partitions, ledger.replication_factor) == ("mm2-ledger.a.internal", 1, 2)
    large = {"segment.bytes": str(16 * 1024 * 1024)}
    assert ledger.settings == {"cleanup.policy": "delete", "retention.ms": "1209600000", **large}
    assert offset_map == NewTopic("mm2-offset-map.a.internal", 1, 2, {"cleanup.policy": "compact", **large})
    assert state == NewTopic("mm2-state.a.internal", 1, 2, settings)
    assert journal == NewTopic(
        "mm2-journal.a.internal", 1, 2, settings | {"cleanup.policy": "delete", "retention.ms": "1209600000"}
    )
    assert declarations == NewTopic("mm2-declarations.a.internal", 1, 2, settings)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "replication.policy.separator=_\n",
        "replication.policy.separator=_\nreplication.policy.internal.topic.separator.enabled=false\n",
        IDENTITY,
    ],
)
def test_the_ledger_is_internal_to_every_policy(make_flow: FlowMaker, text: str) -> None:
    flow = make_flow(text)
    assert flow.replication_policy.is_internal_topic(ledger_topic(flow))
    assert ledger_topic(flow).startswith("mm2-ledger")


def test_a_policy_with_odd_names_still_gets_a_ledger_of_its_own(make_flow: FlowMaker) -> None:
    class Odd(DefaultReplicationPolicy):
        def offset_syncs_topic(self, cluster_alias: str) -> str:
            return "syncs"

    assert ledger_topic(replace(make_flow(), replication_policy=Odd())) == "mm2-ledger.a.internal"


# -- on real clusters --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source_access(primary: EmbeddedCluster) -> Access:
    return Access("a", primary.bootstrap_servers.split(","))


@pytest.fixture(scope="module")
def target_access(backup: EmbeddedCluster) -> Access:
    return Access("b", backup.bootstrap_servers.split(","))


@pytest.mark.kafka
def test_a_plan_is_carried_out_once_and_follows_the_source(
    make_flow: FlowMaker, source_access: Access, target_access: Access
) -> None:
    flow = make_flow("topics=sync-[a-z]+\nreplication.factor=3\nheartbeats.replication.enabled=false\n")
    with Admin(source_access) as source, Admin(target_access) as target:
        source.create_topics([NewTopic("sync-orders", 2, 1, {"retention.ms": "12345"}), NewTopic("sync-1", 1, 1)])
        source.wait_for_topics({"sync-orders": 2})
        first = read_plan(flow, source, target)
        (applied,) = apply_topics(first, target)
        assert (applied.topic, applied.outcome.status) == ("a.sync-orders", Status.DONE)
        assert applied.warning == "has 1 replicas, not 3: there are no more brokers"
        assert first.ready_on(target.topics()) == first.mirrored
        assert target.topic_settings(["a.sync-orders"])["a.sync-orders"]["retention.ms"].value == "12345"
        assert read_plan(flow, source, target).is_complete

        source.add_partitions({"sync-orders": 5})
        source.wait_for_topics({"sync-orders": 5})
        second = read_plan(flow, source, target)
        assert second.create == ()
        assert [item.outcome.status for item in apply_topics(second, target)] == [Status.DONE]
        assert target.topics()["a.sync-orders"].partitions == 5
        assert apply_topics(read_plan(flow, source, target), target) == []


@pytest.mark.kafka
def test_internal_topics_are_created_as_far_as_brokers_allow(make_flow: FlowMaker, target_access: Access) -> None:
    flow = make_flow("offset.storage.topic=mm2-offsets.sync-test.internal\n")
    wanted = [replace(topic, name=topic.name.replace(".a.", ".sync-test.")) for topic in internal_topics(flow)]
    with Admin(target_access) as target:
        assert [item.outcome.status for item in create_topics(wanted, target)] == [Status.DONE] * 6
        again = create_topics(wanted, target)
        assert [(item.outcome.status, item.warning) for item in again] == [(Status.ALREADY, "")] * 6
        topics = target.topics()
        assert topics["mm2-offsets.sync-test.internal"].partitions == 25
        settings = target.topic_settings([topic.name for topic in wanted])
        assert settings["mm2-offsets.sync-test.internal"]["cleanup.policy"].value == "compact"
        assert settings["mm2-ledger.sync-test.internal"]["cleanup.policy"].value == "delete"


@pytest.mark.kafka
def test_nothing_to_create_asks_nothing(target_access: Access) -> None:
    with Admin(replace(target_access, bootstrap_servers=["127.0.0.1:1"])) as unreachable:
        assert create_topics([], unreachable) == []
