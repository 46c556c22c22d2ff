"""Administration, asked of real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.errors import AuthenticationFailed, BrokerRefused, BrokerUnavailable
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.topics import NewTopic, Operation, SettingSource, Status
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def access(primary: EmbeddedCluster) -> Access:
    return Access("primary", primary.bootstrap_servers.split(","))


@pytest.fixture
def admin(access: Access) -> Iterator[Admin]:
    with Admin(access) as admin:
        yield admin


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    """A cluster of two brokers that asks `mirror` for its password and gives it no rights at first."""
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    spec = ClusterSpec("guarded", brokers=2, listeners=[listener], settings=ACCESS_CONTROL, heap="256m")
    with running_clusters(spec) as (cluster,):
        yield cluster


@pytest.fixture(scope="module")
def as_super_user(guarded: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture(scope="module")
def mirror_access(guarded: EmbeddedCluster) -> Access:
    login = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    return Access("guarded", guarded.addresses("CLIENTS").split(","), credentials=login)


def allow(
    cluster: EmbeddedCluster,
    kind: ResourceType,
    name: str,
    *operations: ACLOperation,
    pattern: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
) -> None:
    resource = ResourcePattern(kind, name, pattern)
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers.split(",")) as client:
        client.create_acls(
            [ACL("User:mirror", "*", operation, ACLPermissionType.ALLOW, resource) for operation in operations]
        )


# -- the cluster -------------------------------------------------------------------------------------------


def test_tells_about_the_cluster(admin: Admin, primary: EmbeddedCluster) -> None:
    assert admin.cluster_id() == primary.brokers[0].spec.cluster_id
    assert admin.broker_count() == 1
    (release,) = admin.versions()
    assert int(release.split(".")[0]) >= 4


def test_counts_all_brokers(as_super_user: Admin) -> None:
    assert as_super_user.broker_count() == 2
    assert len(as_super_user.versions()) == 1


def test_without_an_authorizer_everything_is_allowed(admin: Admin) -> None:
    assert Operation.Alter in admin.cluster_rights()
    assert {Operation.Read, Operation.Write, Operation.Create} <= admin.topic_rights(["nowhere"])["nowhere"]
    assert admin.transactional_id_rights("nobody") == {Operation.Describe, Operation.Write}
    assert {Operation.Describe, Operation.Read} <= admin.group_rights("no-such-group")


def test_a_cluster_out_of_reach_is_unavailable(access: Access) -> None:
    with (
        Admin(replace(access, bootstrap_servers=["127.0.0.1:1"])) as admin,
        pytest.raises(BrokerUnavailable, match=r"cannot describe the cluster: primary broker 127\.0\.0\.1:1"),
    ):
        admin.cluster_id()


def test_connections_that_died_are_made_anew(admin: Admin) -> None:
    admin.cluster_id()
    assert admin._brokers is not None
    admin._brokers.anyone()._socket.shutdown(2)
    assert admin.broker_count() == 1


# -- topics ------------------------------------------------------------------------------------------------


def test_a_created_topic_is_described(admin: Admin) -> None:
    outcome = admin.create_topic(NewTopic("admin-created", 3, 1, {"retention.ms": "1000"}))
    assert outcome.status is Status.DONE
    assert outcome.settings["retention.ms"] == "1000"
    assert admin.wait_for_topics({"admin-created": 3}) == []
    info = admin.topics()["admin-created"]
    assert (info.partitions, info.replication_factor, info.is_internal) == (3, 1, False)
    assert info.topic_id.int != 0
    assert admin.topics(["admin-created", "admin-nowhere"]) == {"admin-created": info}


def test_a_topic_that_exists_is_fine(admin: Admin) -> None:
    admin.create_topic(NewTopic("admin-twice", 1, 1))
    assert admin.create_topic(NewTopic("admin-twice", 5, 1)).status is Status.ALREADY
    assert admin.wait_for_topics({"admin-twice": 1}) == []
    assert admin.topics(["admin-twice"])["admin-twice"].partitions == 1


def test_one_refused_topic_does_not_stop_the_others(admin: Admin) -> None:
    outcomes = admin.create_topics([NewTopic("admin-three-copies", 1, 3), NewTopic("admin-one-copy", 1, 1)])
    assert outcomes["admin-three-copies"].status is Status.REFUSED
    assert "replication factor" in outcomes["admin-three-copies"].reason
    assert outcomes["admin-one-copy"].status is Status.DONE


def test_a_trial_creates_nothing_but_tells_the_settings(admin: Admin) -> None:
    trial = admin.create_topics([NewTopic("admin-trial", 1, 1, {"segment.ms": "60000"})], only_try=True)
    assert trial["admin-trial"].status is Status.DONE
    assert trial["admin-trial"].settings["segment.ms"] == "60000"
    assert int(trial["admin-trial"].settings["max.message.bytes"] or 0) > 0
    assert admin.topics(["admin-trial"]) == {}


def test_waiting_for_a_topic_that_never_comes_ends(admin: Admin) -> None:
    assert admin.wait_for_topics({"admin-never": 1}, patience=0.1) == ["admin-never"]


def test_topics_grow_and_never_shrink(admin: Admin) -> None:
    admin.create_topics([NewTopic("admin-small", 1, 1), NewTopic("admin-large", 4, 1)])
    outcomes = admin.add_partitions({"admin-small": 3, "admin-large": 2, "admin-gone": 2})
    assert outcomes["admin-small"].status is Status.DONE
    assert outcomes["admin-large"].status is Status.ALREADY
    assert outcomes["admin-gone"].status is Status.REFUSED
    assert admin.wait_for_topics({"admin-small": 3, "admin-large": 4}) == []


# -- settings ----------------------------------------------------------------------------------------------


def test_settings_tell_where_they_come_from(admin: Admin) -> None:
    admin.create_topic(NewTopic("admin-settings", 1, 1, {"retention.ms": "1000"}))
    wait_until(lambda: "admin-settings" in admin.topics(), "the topic")  # the broker learns of it a moment later
    found = admin.topic_settings(["admin-settings", "admin-nowhere"])
    assert list(found) == ["admin-settings"]
    settings = found["admin-settings"]
    assert (settings["retention.ms"].value, settings["retention.ms"].source) == ("1000", SettingSource.TOPIC)
    assert settings["max.message.bytes"].is_default
    assert settings["segment.bytes"].source is SettingSource.STATIC_BROKER


def test_altering_leaves_other_settings_alone(admin: Admin) -> None:
    admin.create_topic(NewTopic("admin-altered", 1, 1, {"max.message.bytes": "100000", "segment.ms": "2000"}))
    changes = {"admin-altered": {"max.message.bytes": "50000", "flush.ms": "7"}, "admin-nowhere": {"flush.ms": "7"}}
    outcomes = admin.alter_topic_settings(changes)
    assert outcomes["admin-altered"].status is Status.DONE
    assert outcomes["admin-nowhere"].status is Status.REFUSED
    admin.alter_topic_settings({"admin-altered": {"max.message.bytes": None}})
    settings = admin.topic_settings(["admin-altered"])["admin-altered"]
    assert settings["max.message.bytes"].is_default
    assert (settings["segment.ms"].value, settings["flush.ms"].value) == ("2000", "7")


# -- offsets and transactions ------------------------------------------------------------------------------


def test_offsets_of_an_empty_topic_are_zero(admin: Admin) -> None:
    admin.create_topic(NewTopic("admin-offsets", 2, 1))
    admin.wait_for_topics({"admin-offsets": 2})
    partitions = [TopicPartition("admin-offsets", 0), TopicPartition("admin-offsets", 1)]
    assert admin.end_offsets(partitions) == dict.fromkeys(partitions, 0)
    assert admin.earliest_offsets(partitions) == dict.fromkeys(partitions, 0)
    assert admin.end_offsets([]) == {}


def test_finds_transactional_ids_by_prefix_even_idle_ones_on_all_brokers(
    guarded: EmbeddedCluster, as_super_user: Admin
) -> None:
    loop = Loop()
    network = Network(loop, as_super_user.access)
    network.refresh(())
    wanted = {f"heliograph-a->b-{number}" for number in range(8)}
    for name in (*wanted, "other-0"):
        TransactionalProducer(network, name, 10_000)
    loop.close()
    assert as_super_user.transactional_ids("heliograph-a->b-") == wanted


def test_open_transactions_are_named_and_hold_the_stable_offset_back(admin: Admin, primary: EmbeddedCluster) -> None:
    where, other = TopicPartition("admin-open", 0), TopicPartition("admin-open", 1)
    create_topic(primary.bootstrap_servers, where.topic, 2)
    both = [where, other]
    assert (admin.open_transactions(both), admin.transactional_topics(both)) == ([], set())
    with raw.network(primary.bootstrap_servers, where.topic) as connected:
        transaction = RawTransaction(connected, "admin-open-tx", where)
        transaction.write(2, 0)
        assert (admin.end_offsets(both), admin.stable_offsets(both)) == ({where: 2, other: 0}, {where: 0, other: 0})
        (found,) = admin.open_transactions(both)
        assert (found.topic, found.partition, found.transactional_id) == (*where, "admin-open-tx")
        assert found.producer_id == transaction.stamp.producer_id
        assert admin.transactional_topics(both) == {where.topic}
        transaction.end(commit=True)
    wait_until(lambda: admin.stable_offsets(both) == {where: 3, other: 0}, "the end of the transaction", 10)
    assert admin.open_transactions(both) == []
    assert admin.transactional_topics(both) == {where.topic}  # it has been, and may be again
    assert (admin.stable_offsets([]), admin.open_transactions([]), admin.transactional_topics([])) == ({}, [], set())


def test_topics_that_we_may_not_ask_about_may_have_transactions(
    guarded: EmbeddedCluster, mirror_access: Access, as_super_user: Admin
) -> None:
    as_super_user.create_topic(NewTopic("unasked", 1, 1))
    as_super_user.wait_for_topics({"unasked": 1})
    allow(guarded, ResourceType.TOPIC, "unasked", ACLOperation.DESCRIBE)
    where = TopicPartition("unasked", 0)
    with Admin(mirror_access) as admin:
        wait_until(lambda: bool(admin.topics(["unasked"])), "the right to see it", 10)
        assert admin.transactional_topics([where]) == {"unasked"}
    assert as_super_user.transactional_topics([where]) == set()


# -- rights ------------------------------------------------------------------------------------------------


def test_wrong_credentials_fail_at_once(mirror_access: Access) -> None:
    wrong = replace(mirror_access, credentials=Credentials("PLAIN", "mirror", Secret("guessed-secret")))
    with Admin(wrong) as admin, pytest.raises(AuthenticationFailed, match="guarded broker") as failed:
        admin.cluster_id()
    assert "guessed-secret" not in str(failed.value)


def test_without_rights_nothing_is_seen_or_done(mirror_access: Access, as_super_user: Admin) -> None:
    as_super_user.create_topic(NewTopic("hidden", 1, 1))
    as_super_user.wait_for_topics({"hidden": 1})
    with Admin(mirror_access) as admin:
        assert admin.cluster_rights() == set()
        assert "hidden" not in admin.topics()
        assert admin.topics(["hidden"]) == {}
        assert admin.topic_rights(["hidden", "nowhere"]) == {"hidden": set(), "nowhere": set()}
        assert admin.create_topic(NewTopic("forbidden", 1, 1)).status is Status.REFUSED
        with pytest.raises(BrokerRefused, match="guarded: describe settings of topic hidden"):
            admin.topic_settings(["hidden"])


def test_rights_are_told_as_granted(guarded: EmbeddedCluster, mirror_access: Access, as_super_user: Admin) -> None:
    as_super_user.create_topic(NewTopic("shown", 1, 1))
    as_super_user.wait_for_topics({"shown": 1})
    allow(guarded, ResourceType.TOPIC, "shown", ACLOperation.READ, ACLOperation.DESCRIBE_CONFIGS)
    allow(guarded, ResourceType.TOPIC, "planned", ACLOperation.CREATE, ACLOperation.DESCRIBE)
    granted = {
        "shown": {Operation.Read, Operation.Describe, Operation.DescribeConfigs},
        "planned": {Operation.Create, Operation.Describe},
    }
    with Admin(mirror_access) as admin:
        wait_until(lambda: admin.topic_rights(list(granted)) == granted, f"the rights {granted}", 10)


def test_rights_on_transactional_ids_are_found_out_without_using_one(
    guarded: EmbeddedCluster, mirror_access: Access, as_super_user: Admin
) -> None:
    kind, prefixed = ResourceType.TRANSACTIONAL_ID, ACLResourcePatternType.PREFIXED
    with Admin(mirror_access) as admin:
        assert admin.transactional_id_rights("tx-check") == set()
        allow(guarded, kind, "tx-", ACLOperation.DESCRIBE, pattern=prefixed)
        _await_rights(admin, {Operation.Describe})
        allow(guarded, kind, "tx-", ACLOperation.WRITE, pattern=prefixed)
        _await_rights(admin, {Operation.Describe, Operation.Write})
    assert as_super_user.transactional_ids("tx-") == set()


def test_rights_on_groups_are_told_whether_they_exist_or_not(guarded: EmbeddedCluster, mirror_access: Access) -> None:
    with Admin(mirror_access) as admin:
        assert admin.group_rights("planned-group") == set()
        allow(guarded, ResourceType.GROUP, "planned-group", ACLOperation.READ)
        granted = {Operation.Read, Operation.Describe}
        wait_until(lambda: admin.group_rights("planned-group") == granted, f"the rights {granted}", 10)


def _await_rights(admin: Admin, rights: set[Operation]) -> None:
    """A rule that has just been made reaches the broker's authorizer a moment later."""
    wait_until(lambda: admin.transactional_id_rights("tx-check") == rights, f"the rights {rights}", 10)


def test_topics_are_deleted_and_those_that_are_gone_are_fine(primary: EmbeddedCluster) -> None:
    goes, stays = (create_topic(primary.bootstrap_servers, fresh_name(name)) for name in ("goes", "stays"))
    never = fresh_name("never-there")
    with Admin(Access("primary", primary.bootstrap_servers.split(","))) as admin:
        outcomes = admin.delete_topics([goes, never])
        assert {name: item.status for name, item in outcomes.items()} == {goes: Status.DONE, never: Status.ALREADY}
        wait_until(lambda: goes not in admin.topics([goes, stays]), "the topic to go")
        assert stays in admin.topics([stays])
        assert admin.delete_topics([]) == {}
