"""Which settings of mirrored topics are changed, and that real brokers then have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.acls import Acl
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, Operation, SettingSource, TopicSetting
from heliograph.policy.filters import DefaultConfigPropertyFilter
from heliograph.recovery.producers.fence import FenceWay, ProducerFence
from heliograph.sync.topic_settings import SettingChanges, TopicSettingsSync, wanted_changes
from heliograph.sync.topics import apply_topics, flow_topics, keep_internal_settings, ledger_topic, read_plan
from tests.waiting import wait_until

FlowMaker = Callable[..., FlowConfig]
CHOSEN, BROKER, STATIC, DEFAULT = (
    SettingSource.TOPIC,
    SettingSource.DYNAMIC_BROKER_DEFAULT,
    SettingSource.STATIC_BROKER,
    SettingSource.DEFAULT,
)


def rules(**settings: str) -> DefaultConfigPropertyFilter:
    found = DefaultConfigPropertyFilter()
    found.configure({name.replace("_", "."): value for name, value in settings.items()})
    return found


def changes(
    source: TopicSetting, target: TopicSetting, of: DefaultConfigPropertyFilter | None = None
) -> SettingChanges:
    return wanted_changes({"flush.ms": source}, {"flush.ms": target}, of or rules())


# -- the decision ------------------------------------------------------------------------------------------

SET = SettingChanges({"flush.ms": "1"})
DELETE = SettingChanges({}, ("flush.ms",))
NOTHING = SettingChanges({})


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (TopicSetting("1", CHOSEN), TopicSetting("2", CHOSEN), SET),
        (TopicSetting("1", CHOSEN), TopicSetting("1", CHOSEN), NOTHING),
        (TopicSetting("1", BROKER), TopicSetting("2", DEFAULT), SET),
        (TopicSetting("1", BROKER), TopicSetting("1", DEFAULT), NOTHING),
        (TopicSetting("1", DEFAULT), TopicSetting("2", CHOSEN), DELETE),
        (TopicSetting("1", DEFAULT), TopicSetting("1", CHOSEN), DELETE),
        (TopicSetting("1", DEFAULT), TopicSetting("2", DEFAULT), NOTHING),
        (TopicSetting("1", DEFAULT), TopicSetting("2", BROKER), NOTHING),
        (TopicSetting("1", STATIC), TopicSetting("2", CHOSEN), NOTHING),
        (TopicSetting("1", CHOSEN, is_read_only=True), TopicSetting("2", CHOSEN), NOTHING),
        (TopicSetting(None, CHOSEN, is_sensitive=True), TopicSetting("2", CHOSEN), NOTHING),
    ],
)
def test_only_real_differences_are_sent(source: TopicSetting, target: TopicSetting, expected: SettingChanges) -> None:
    assert changes(source, target) == expected
    assert expected.are_needed == (expected is not NOTHING)


def test_what_the_source_chose_does_not_hang_on_the_targets_defaults() -> None:
    assert changes(TopicSetting("1", CHOSEN), TopicSetting("1", DEFAULT)) == SET
    assert changes(TopicSetting("1", CHOSEN), TopicSetting("1", STATIC)) == SET


def test_defaults_of_the_source_are_set_if_asked_for() -> None:
    of_source = rules(use_defaults_from="source")
    assert changes(TopicSetting("1", DEFAULT), TopicSetting("2", CHOSEN), of_source) == SET
    assert changes(TopicSetting("1", DEFAULT), TopicSetting("2", DEFAULT), of_source) == SET
    assert changes(TopicSetting("1", DEFAULT), TopicSetting("1", CHOSEN), of_source) == NOTHING
    assert changes(TopicSetting("1", DEFAULT), TopicSetting("1", DEFAULT), of_source) == NOTHING
    assert changes(TopicSetting("1", STATIC), TopicSetting("2", CHOSEN), of_source) == NOTHING


@pytest.mark.parametrize("source", [TopicSetting("1", CHOSEN), TopicSetting("1", DEFAULT)])
def test_excluded_settings_are_neither_set_nor_deleted(source: TopicSetting) -> None:
    excluding = rules(config_properties_exclude=r"flush\..*")
    assert changes(source, TopicSetting("2", CHOSEN), excluding) == NOTHING


def test_settings_that_only_the_target_has_stay() -> None:
    assert wanted_changes({}, {"flush.ms": TopicSetting("2", CHOSEN)}, rules()) == NOTHING


def test_a_setting_that_the_target_does_not_know_does_not_spoil_the_others() -> None:
    source = {"flush.ms": TopicSetting("1"), "new.ms": TopicSetting("1"), "newer.ms": TopicSetting("1", DEFAULT)}
    found = wanted_changes(source, {"flush.ms": TopicSetting("2", CHOSEN)}, rules())
    assert found == SettingChanges({"flush.ms": "1"}, (), ("new.ms",))


LIMIT = "max.message.bytes"


@pytest.mark.parametrize("value", ["1", "78"])
def test_what_keeps_producers_out_of_the_source_is_not_carried(value: str) -> None:
    fenced = {LIMIT: TopicSetting(value, CHOSEN)}
    for theirs in (TopicSetting("5000", CHOSEN), TopicSetting("5000", DEFAULT)):
        assert wanted_changes(fenced, {LIMIT: theirs}, rules(use_defaults_from="source")) == NOTHING


def test_any_limit_that_lets_records_in_is_carried() -> None:
    found = wanted_changes({LIMIT: TopicSetting("79", CHOSEN)}, {LIMIT: TopicSetting("5000", CHOSEN)}, rules())
    assert found == SettingChanges({LIMIT: "79"})


@pytest.mark.parametrize("ours", [TopicSetting("5000", CHOSEN), TopicSetting("5000", DEFAULT)])
def test_what_keeps_producers_out_of_the_target_stays(ours: TopicSetting) -> None:
    assert wanted_changes({LIMIT: ours}, {LIMIT: TopicSetting("1", CHOSEN)}, rules()) == NOTHING


# -- on real brokers: the conformance tests of MirrorMaker 2 -----------------------------------------------

EXCLUDE = "config.properties.exclude=delete\\\\.retention\\\\..*\nheartbeats.replication.enabled=false\n"


@pytest.fixture(scope="module")
def source(primary: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("a", primary.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture(scope="module")
def target(backup: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("b", backup.bootstrap_servers.split(","))) as admin:
        yield admin


def make_topic(admin: Admin, name: str, **settings: str) -> None:
    admin.create_topic(NewTopic(name, 1, 1, {key.replace("_", "."): value for key, value in settings.items()}))
    admin.wait_for_topics({name: 1})


def own_settings(admin: Admin, topic: str) -> dict[str, str | None]:
    """What the topic has of its own, beside the defaults."""
    settings = admin.topic_settings([topic])[topic]
    return {name: setting.value for name, setting in settings.items() if setting.source is CHOSEN}


def await_settings(admin: Admin, topic: str, **expected: str) -> None:
    """A change reaches the broker that tells about it a moment later."""
    wanted = {key.replace("_", "."): value for key, value in expected.items()}
    wait_until(lambda: own_settings(admin, topic) == wanted, f"{topic} to have {wanted}", 10)


@pytest.mark.kafka
def test_sync_topic_configs(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    """MirrorMaker 2's testSyncTopicConfigs: an included setting is overwritten, an excluded one stays."""
    make_topic(source, "set-synced", delete_retention_ms="1000", retention_bytes="1000")
    make_topic(target, "a.set-synced", delete_retention_ms="2000", retention_bytes="2000")
    sync = TopicSettingsSync(make_flow(f"topics=set-synced\n{EXCLUDE}"), source, target)
    result = sync.run()
    assert result.changed == {"a.set-synced": SettingChanges({"retention.bytes": "1000"})}
    assert (result.refused, result.unchanged, result.unknown) == ({}, 0, {})
    await_settings(target, "a.set-synced", delete_retention_ms="2000", retention_bytes="1000")
    again = sync.run()
    assert (again.changed, again.unchanged) == ({}, 1)


@pytest.mark.kafka
def test_replicate_source_default(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    """MirrorMaker 2's testReplicateSourceDefault: what the source leaves at its default is set on the target."""
    make_topic(source, "set-source", flush_ms="1000")
    make_topic(target, "a.set-source", delete_retention_ms="2000", retention_bytes="2000")
    text = f"topics=set-source\na->b.use.defaults.from=source\n{EXCLUDE}"
    sync = TopicSettingsSync(make_flow(text), source, target)
    sync.run()
    unlimited, forever = "-1", str(2**63 - 1)
    await_settings(target, "a.set-source", delete_retention_ms="2000", retention_bytes=unlimited, flush_ms="1000")

    source.alter_topic_settings({"set-source": {"flush.ms": None}})
    await_settings(source, "set-source")
    assert sync.run().changed == {"a.set-source": SettingChanges({"flush.ms": forever})}
    await_settings(target, "a.set-source", delete_retention_ms="2000", retention_bytes=unlimited, flush_ms=forever)
    assert sync.run().unchanged == 1


@pytest.mark.kafka
def test_replicate_target_default(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    """MirrorMaker 2's testReplicateTargetDefault: deleting a setting at the source resets it on the target."""
    make_topic(source, "set-target", retention_bytes="1000")
    make_topic(target, "a.set-target", delete_retention_ms="2000", flush_ms="5")
    sync = TopicSettingsSync(make_flow(f"topics=set-target\n{EXCLUDE}"), source, target)
    assert sync.run().changed == {"a.set-target": SettingChanges({"retention.bytes": "1000"}, ("flush.ms",))}
    await_settings(target, "a.set-target", delete_retention_ms="2000", retention_bytes="1000")

    source.alter_topic_settings({"set-target": {"retention.bytes": None}})
    await_settings(source, "set-target")
    assert sync.run().changed == {"a.set-target": SettingChanges({}, ("retention.bytes",))}
    await_settings(target, "a.set-target", delete_retention_ms="2000")


# -- on real brokers: what else counts ---------------------------------------------------------------------


@pytest.mark.kafka
def test_a_comparison_changes_nothing(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    make_topic(source, "set-compared", retention_ms="1000")
    make_topic(target, "a.set-compared", flush_ms="5")
    drift = TopicSettingsSync(make_flow(f"topics=set-compared\n{EXCLUDE}"), source, target).drift()
    assert drift.changes == {"a.set-compared": SettingChanges({"retention.ms": "1000"}, ("flush.ms",))}
    assert own_settings(target, "a.set-compared") == {"flush.ms": "5"}


@pytest.mark.kafka
def test_only_mirrored_topics_on_both_sides_are_compared(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    for topic in ("set-both", "set-alone", "set-unmirrored"):
        make_topic(source, topic, retention_ms="1000")
    make_topic(target, "a.set-both", retention_ms="1000")
    make_topic(target, "a.set-unmirrored", retention_ms="2000")
    flow = make_flow(f"topics=set-both,set-alone\n{EXCLUDE}")
    result = TopicSettingsSync(flow, source, target).run()
    assert (result.changed, result.refused, result.unchanged) == ({}, {}, 1)
    assert own_settings(target, "a.set-unmirrored") == {"retention.ms": "2000"}


@pytest.mark.kafka
def test_a_topic_that_was_created_like_its_source_needs_no_change(
    make_flow: FlowMaker, source: Admin, target: Admin
) -> None:
    make_topic(source, "set-created", retention_ms="1000", cleanup_policy="compact,delete", min_insync_replicas="1")
    flow = make_flow("topics=set-created\nheartbeats.replication.enabled=false\n")
    apply_topics(read_plan(flow, source, target), target)
    assert TopicSettingsSync(flow, source, target).run().unchanged == 1


@pytest.mark.kafka
def test_a_fence_around_the_source_reaches_neither_old_nor_new_topics(
    make_flow: FlowMaker, source: Admin, target: Admin
) -> None:
    for topic in ("set-fenced-old", "set-fenced-new"):
        make_topic(source, topic, max_message_bytes="50000", flush_ms="7")
    make_topic(target, "a.set-fenced-old", max_message_bytes="50000")
    fence = ProducerFence(source, FenceWay.TOPIC)
    planned = fence.plan(["set-fenced-old", "set-fenced-new"])
    fence.apply(planned)
    flow = make_flow("topics=set-fenced-.*\nheartbeats.replication.enabled=false\n")
    apply_topics(read_plan(flow, source, target), target)
    result = TopicSettingsSync(flow, source, target).run()
    assert result.changed == {"a.set-fenced-old": SettingChanges({"flush.ms": "7"})}
    await_settings(target, "a.set-fenced-old", max_message_bytes="50000", flush_ms="7")
    await_settings(target, "a.set-fenced-new", flush_ms="7")
    fence.lift(planned)
    TopicSettingsSync(flow, source, target).run()
    await_settings(target, "a.set-fenced-new", max_message_bytes="50000", flush_ms="7")


@pytest.mark.kafka
def test_switched_off_it_does_nothing(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    make_topic(source, "set-off", retention_ms="1000")
    make_topic(target, "a.set-off", retention_ms="2000")
    sync = TopicSettingsSync(make_flow("topics=set-off\nsync.topic.configs.enabled=false\n"), source, target)
    assert not sync.is_enabled
    assert (sync.run().changed, sync.run().unchanged) == ({}, 0)
    assert own_settings(target, "a.set-off") == {"retention.ms": "2000"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    with running_clusters(ClusterSpec("guarded", listeners=[listener], settings=ACCESS_CONTROL)) as (cluster,):
        yield cluster


@pytest.mark.kafka
def test_a_topic_that_is_refused_does_not_stop_the_others(
    make_flow: FlowMaker, source: Admin, guarded: EmbeddedCluster
) -> None:
    topics = ("set-open", "set-hidden", "set-fixed")
    operations = {
        "set-open": {Operation.Describe, Operation.DescribeConfigs, Operation.AlterConfigs},
        "set-hidden": {Operation.Describe},
        "set-fixed": {Operation.Describe, Operation.DescribeConfigs},
    }
    with Admin(Access("b", guarded.bootstrap_servers.split(","))) as owner:
        for topic in topics:
            make_topic(source, topic, retention_ms="1000")
            make_topic(owner, f"a.{topic}")
        owner.create_acls(
            [Acl(f"a.{topic}", "User:mirror", each) for topic, some in operations.items() for each in some]
        )
    login = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    with Admin(Access("b", guarded.addresses("CLIENTS").split(","), credentials=login)) as target:
        rights = {f"a.{topic}": some for topic, some in operations.items()}
        wait_until(lambda: target.topic_rights(list(rights)) == rights, f"the rights {rights}", 10)
        flow = make_flow(f"topics={','.join(topics)}\n{EXCLUDE}")
        result = TopicSettingsSync(flow, source, target).run()
        assert result.changed == {"a.set-open": SettingChanges({"retention.ms": "1000"})}
        await_settings(target, "a.set-open", retention_ms="1000")
    assert set(result.refused) == {"a.set-hidden", "a.set-fixed"}
    assert result.refused["a.set-hidden"] == "lacks DescribeConfigs on topic a.set-hidden of b"
    assert "uthorization" in result.refused["a.set-fixed"]


@pytest.mark.kafka
def test_a_ledger_whose_retention_may_not_be_changed_is_told(make_flow: FlowMaker, guarded: EmbeddedCluster) -> None:
    flow = make_flow("ledger.retention.ms=60000\n")
    ledger = ledger_topic(flow)
    some = {Operation.Describe, Operation.DescribeConfigs}
    with Admin(Access("b", guarded.bootstrap_servers.split(","))) as owner:
        make_topic(owner, ledger, retention_ms="50000", segment_bytes="1048576")
        owner.create_acls([Acl(topic, "User:mirror", each) for topic in flow_topics(flow) for each in some])
    login = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    with Admin(Access("b", guarded.addresses("CLIENTS").split(","), credentials=login)) as target:
        wait_until(lambda: target.topic_rights([ledger]) == {ledger: some}, f"the rights {some}", 10)
        with pytest.raises(BrokerRefused, match=f"b {ledger}: .*uthorization"):
            keep_internal_settings(flow, target)
        assert own_settings(target, ledger) == {"retention.ms": "50000", "segment.bytes": "1048576"}
        keep_internal_settings(make_flow("ledger.retention.ms=50000\n"), target)  # nothing to change
