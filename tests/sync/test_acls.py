"""Which rights are carried over to mirrored topics, and that real brokers then have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType

from heliograph.config.flow import FlowConfig
from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.acls import Acl, AllOperations, Pattern, Permission
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, Operation
from heliograph.policy.replication import DefaultReplicationPolicy
from heliograph.recovery.producers.fence import FenceWay, ProducerFence
from heliograph.sync.acls import AclDrift, AclSync, carried_acls, examine_acls
from tests.waiting import wait_until

FlowMaker = Callable[..., FlowConfig]
ON = "sync.topic.acls.enabled=true\n"
ALSO_PREFIXED = f"{ON}sync.topic.acls.prefixed.enabled=true\n"
IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
READ, WRITE, ALL = Operation.Read, Operation.Write, AllOperations.All
DENY = Permission.DENY
READER = Acl("orders", "User:u", READ)
PREFIX = Acl("ord", "User:u", READ, pattern=Pattern.PREFIXED)
ALL_TOPICS = Acl("*", "User:u", READ)


def carried(flow: FlowConfig, *acls: Acl, topics: Sequence[str] = ("orders",)) -> set[Acl]:
    return set(carried_acls(flow, acls, topics).wanted)


# -- the transformation ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (READER, {replace(READER, topic="a.orders")}),
        (Acl("orders", "User:u", WRITE), set()),
        (Acl("orders", "User:u", ALL), {Acl("a.orders", "User:u", READ)}),
        (Acl("orders", "User:u", Operation.Describe), {Acl("a.orders", "User:u", Operation.Describe)}),
        (Acl("orders", "User:u", WRITE, DENY), {Acl("a.orders", "User:u", WRITE, DENY)}),
        (Acl("orders", "User:u", ALL, DENY), {Acl("a.orders", "User:u", ALL, DENY)}),
        (Acl("orders", "Group:g", READ, host="10.1.2.3"), {Acl("a.orders", "Group:g", READ, host="10.1.2.3")}),
        (Acl("not-there-yet", "User:u", READ), {Acl("a.not-there-yet", "User:u", READ)}),
    ],
)
def test_readers_keep_their_rights_and_nobody_may_write(make_flow: FlowMaker, source: Acl, target: set[Acl]) -> None:
    assert carried(make_flow(ON), source) == target


@pytest.mark.parametrize("host", ["*", "10.1.2.3"])
@pytest.mark.parametrize("text", [ON, ALSO_PREFIXED])
def test_what_keeps_everyone_from_writing_would_keep_the_mirror_out(make_flow: FlowMaker, text: str, host: str) -> None:
    fence = Acl("orders", "User:*", WRITE, DENY, host)
    broad = [replace(fence, topic="ord", pattern=Pattern.PREFIXED), replace(fence, topic="*")]
    found = carried_acls(make_flow(text), [fence, *broad, READER], ["orders"])
    assert (found.wanted, found.left_out) == ({replace(READER, topic="a.orders")}, set())


def test_what_keeps_everyone_from_everything_is_told(make_flow: FlowMaker) -> None:
    barred = Acl("orders", "User:*", ALL, DENY)
    elsewhere = replace(barred, topic="b.orders")
    found = carried_acls(make_flow(ALSO_PREFIXED), [barred, elsewhere, replace(barred, topic="*")], ["orders"])
    assert (found.wanted, found.left_out) == (set(), {barred, replace(barred, topic="*")})


def test_what_everyone_may_not_read_is_still_carried(make_flow: FlowMaker) -> None:
    assert carried(make_flow(ON), Acl("orders", "User:*", READ, DENY)) == {Acl("a.orders", "User:*", READ, DENY)}


@pytest.mark.parametrize("topic", ["payments", "orders-secret", "__consumer_offsets", "b.orders"])
def test_only_topics_that_the_flow_mirrors_count(make_flow: FlowMaker, topic: str) -> None:
    flow = make_flow(f"{ON}topics=.*orders.*,__.*\ntopics.exclude=.*secret\n")
    assert carried(flow, Acl(topic, "User:u", READ)) == set()
    assert carried(flow, READER) == {replace(READER, topic="a.orders")}


def test_under_the_identity_policy_names_stay(make_flow: FlowMaker) -> None:
    assert carried(make_flow(ON + IDENTITY), READER) == {READER}


@pytest.mark.parametrize("acl", [PREFIX, ALL_TOPICS, replace(PREFIX, permission=DENY, operation=WRITE)])
def test_rights_on_more_than_one_topic_are_told_and_left_out(make_flow: FlowMaker, acl: Acl) -> None:
    found = carried_acls(make_flow(ON), [acl], ["orders"])
    assert (found.wanted, found.left_out) == (set(), {acl})


@pytest.mark.parametrize("acl", [replace(PREFIX, operation=WRITE), replace(ALL_TOPICS, operation=WRITE)])
def test_what_would_not_be_carried_anyway_is_not_told(make_flow: FlowMaker, acl: Acl) -> None:
    assert not carried_acls(make_flow(ON), [acl], ["orders"]).left_out


def test_on_request_they_are_carried_as_prefixes(make_flow: FlowMaker) -> None:
    flow = make_flow(ALSO_PREFIXED)
    assert carried(flow, PREFIX) == {replace(PREFIX, topic="a.ord")}
    assert carried(flow, ALL_TOPICS) == {Acl("a.", "User:u", READ, pattern=Pattern.PREFIXED)}
    assert carried(flow, replace(PREFIX, operation=ALL)) == {replace(PREFIX, topic="a.ord")}
    assert not carried_acls(flow, [PREFIX, ALL_TOPICS], ["orders"]).left_out


def test_a_prefix_of_no_mirrored_topic_does_not_count(make_flow: FlowMaker) -> None:
    for text in (ON, ALSO_PREFIXED):
        found = carried_acls(make_flow(f"{text}topics=payments\n"), [PREFIX], ["orders", "payments"])
        assert (found.wanted, found.left_out) == (set(), set())


def test_under_the_identity_policy_a_right_on_all_topics_stays_at_home(make_flow: FlowMaker) -> None:
    found = carried_acls(make_flow(ALSO_PREFIXED + IDENTITY), [PREFIX, ALL_TOPICS], ["orders"])
    assert (found.wanted, found.left_out) == ({PREFIX}, {ALL_TOPICS})


class _Suffix(DefaultReplicationPolicy):
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{topic}.{source_alias}"


@pytest.mark.parametrize("alias", ["a", "ax"])
def test_where_names_do_not_begin_alike_a_prefix_cannot_be_carried(make_flow: FlowMaker, alias: str) -> None:
    flow = make_flow(ALSO_PREFIXED)
    flow = replace(flow, replication_policy=_Suffix(), source=replace(flow.source, alias=alias))
    found = carried_acls(flow, [PREFIX, READER], ["orders"])
    assert found.left_out == {PREFIX}
    assert found.wanted == {replace(READER, topic=f"orders.{alias}")}


def test_check_notes_that_mm2_would_copy_rights(make_flow: FlowMaker) -> None:
    (note,) = examine_acls(make_flow())
    assert str(note) == (
        "note: a->b: sync.topic.acls.enabled is not set: rights on topics are not copied; "
        "MirrorMaker 2 would copy them (set it to true or false)"
    )
    assert examine_acls(make_flow("sync.topic.acls.enabled=false\n")) == []
    assert examine_acls(make_flow(enabled="false")) == []


# -- on real brokers ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded_pair() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    specs = [ClusterSpec(alias, listeners=[listener], settings=ACCESS_CONTROL, heap="256m") for alias in ("a", "b")]
    with running_clusters(*specs) as (source, target):
        yield source, target


def admin_of(cluster: EmbeddedCluster, alias: str) -> Admin:
    return Admin(Access(alias, cluster.bootstrap_servers.split(",")))


def mirror_of(cluster: EmbeddedCluster, alias: str) -> Admin:
    login = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    return Admin(Access(alias, cluster.addresses("CLIENTS").split(","), credentials=login))


@pytest.fixture
def source(guarded_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[Admin]:
    with admin_of(guarded_pair[0], "a") as admin:
        yield admin


@pytest.fixture
def target(guarded_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[Admin]:
    with admin_of(guarded_pair[1], "b") as admin:
        yield admin


def grant(admin: Admin, *acls: Acl) -> None:
    admin.create_acls(acls)
    wait_until(lambda: set(acls) <= (admin.topic_acls() or set()), "the ACLs", 10)


def rights_on(admin: Admin, prefix: str) -> set[Acl]:
    return {acl for acl in admin.topic_acls() or () if acl.topic.startswith(prefix)}


@pytest.mark.kafka
def test_a_reader_can_read_the_mirror_and_a_writer_cannot_write_it(
    make_flow: FlowMaker, source: Admin, target: Admin, guarded_pair: tuple[EmbeddedCluster, EmbeddedCluster]
) -> None:
    target.create_topic(NewTopic("a.acl-full", 1, 1))
    target.wait_for_topics({"a.acl-full": 1})
    grant(source, Acl("acl-full", "User:mirror", ALL), Acl("acl-full", "User:mirror", WRITE))
    AclSync(make_flow(f"{ON}topics=acl-full\n"), source, target).run()
    expected = {Operation.Read, Operation.Describe}
    with mirror_of(guarded_pair[1], "b") as user:
        wait_until(lambda: user.topic_rights(["a.acl-full"])["a.acl-full"] == expected, "the right to read", 10)


@pytest.mark.kafka
def test_only_what_is_missing_is_created_and_nothing_deleted(
    make_flow: FlowMaker, source: Admin, target: Admin
) -> None:
    reader, forbidden = Acl("acl-some", "User:u", READ), Acl("acl-some", "User:v", WRITE, DENY)
    own, known = Acl("a.acl-some", "User:local", WRITE), replace(reader, topic="a.acl-some")
    grant(source, reader, forbidden, Acl("acl-other", "User:u", READ))
    grant(target, own, known)
    sync = AclSync(make_flow(f"{ON}topics=acl-some\n"), source, target)
    missing = replace(forbidden, topic="a.acl-some")
    assert sync.drift() == AclDrift((missing,))
    assert rights_on(target, "a.acl-some") == {own, known}
    result = sync.run()
    assert (result.created, result.refused, result.skipped) == ((missing,), {}, "")
    wait_until(lambda: rights_on(target, "a.acl-some") == {own, known, missing}, "the missing ACL", 10)
    assert sync.run().created == ()
    assert rights_on(target, "a.acl-other") == set()


@pytest.mark.kafka
def test_a_fence_around_the_source_does_not_reach_the_target(
    make_flow: FlowMaker, source: Admin, target: Admin
) -> None:
    source.create_topic(NewTopic("acl-fenced", 1, 1))
    source.wait_for_topics({"acl-fenced": 1})
    reader = Acl("acl-fenced", "User:u", READ)
    grant(source, reader)
    fence = ProducerFence(source, FenceWay.ACL)
    planned = fence.plan(["acl-fenced"])
    fence.apply(planned)
    result = AclSync(make_flow(f"{ON}topics=acl-fenced\n"), source, target).run()
    assert (result.created, result.left_out) == ((replace(reader, topic="a.acl-fenced"),), ())
    fence.lift(planned)


@pytest.mark.kafka
def test_prefixes_reach_the_target_on_request(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    source.create_topic(NewTopic("acl-pre-one", 1, 1))
    source.wait_for_topics({"acl-pre-one": 1})
    prefix = Acl("acl-pre-", "User:u", READ, pattern=Pattern.PREFIXED)
    grant(source, prefix)
    text = "topics=acl-pre-.*\n"
    without = AclSync(make_flow(ON + text), source, target).run()
    assert (without.created, without.left_out) == ((), (prefix,))
    remote = replace(prefix, topic="a.acl-pre-")
    assert AclSync(make_flow(ALSO_PREFIXED + text), source, target).run().created == (remote,)
    wait_until(lambda: rights_on(target, "a.acl-pre-") == {remote}, "the prefixed ACL", 10)


@pytest.mark.kafka
def test_unless_asked_for_nothing_is_copied(make_flow: FlowMaker, source: Admin, target: Admin) -> None:
    grant(source, Acl("acl-off", "User:u", READ))
    sync = AclSync(make_flow("topics=acl-off\n"), source, target)
    assert not sync.is_enabled
    assert (sync.run().created, sync.run().skipped) == ((), "")
    assert rights_on(target, "a.acl-off") == set()


@pytest.mark.kafka
def test_without_an_authorizer_it_is_told_once_and_skipped(
    make_flow: FlowMaker, source: Admin, backup: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    grant(source, Acl("acl-unguarded", "User:u", READ))
    flow = make_flow(f"{ON}topics=acl-unguarded\n")
    with admin_of(backup, "b") as unguarded:
        sync = AclSync(flow, source, unguarded)
        assert [sync.run().skipped for _ in range(2)] == ["b has no authorizer"] * 2
        assert caplog.messages == ["a->b: rights on topics are not copied: b has no authorizer"]
        assert AclSync(flow, unguarded, source).drift().skipped == "b has no authorizer"
        (finding,) = sync.obstacles()
        assert finding.message == "rights on topics would not be copied: b has no authorizer"


@pytest.mark.kafka
def test_what_we_may_not_see_or_do_is_told(
    make_flow: FlowMaker, source: Admin, target: Admin, guarded_pair: tuple[EmbeddedCluster, EmbeddedCluster]
) -> None:
    grant(source, Acl("acl-denied", "User:u", READ))
    flow = make_flow(f"{ON}topics=acl-denied\n")
    with mirror_of(guarded_pair[0], "a") as blind, mirror_of(guarded_pair[1], "b") as powerless:
        assert AclSync(flow, blind, target).run().skipped.startswith("a: describe ACLs: ")
        (finding,) = AclSync(flow, blind, target).obstacles()
        assert finding.message.endswith(": User:mirror lacks Describe on the cluster a")
        assert finding.hint == "kafka-acls --add --cluster --operation Describe --allow-principal User:mirror"
        (finding,) = AclSync(flow, source, powerless).obstacles()
        assert finding.message.endswith(": User:mirror lacks Alter on the cluster b")
        assert len(AclSync(flow, blind, powerless).obstacles()) == 2
    assert AclSync(flow, source, target).obstacles() == []
    assert rights_on(target, "a.acl-denied") == set()


@pytest.mark.kafka
def test_rights_that_the_target_refuses_are_told_with_the_reason(
    make_flow: FlowMaker, source: Admin, guarded_pair: tuple[EmbeddedCluster, EmbeddedCluster]
) -> None:
    grant(source, Acl("acl-refused", "User:u", READ))
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    with KafkaAdminClient(bootstrap_servers=guarded_pair[1].bootstrap_servers.split(",")) as client:
        client.create_acls([ACL("User:mirror", "*", ACLOperation.DESCRIBE, ACLPermissionType.ALLOW, cluster)])
    with mirror_of(guarded_pair[1], "b") as powerless:
        wait_until(lambda: powerless.cluster_rights() == {Operation.Describe}, "the right to see ACLs", 10)
        result = AclSync(make_flow(f"{ON}topics=acl-refused\n"), source, powerless).run()
    assert (result.created, result.skipped) == ((), "")
    assert list(result.refused) == [Acl("a.acl-refused", "User:u", READ)]
    assert list(result.refused.values()) == ["CLUSTER_AUTHORIZATION_FAILED"]
