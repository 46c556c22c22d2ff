"""ACLs on topics, read from and written to real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace as Part

import pytest
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.acls import Acl, AllOperations, Pattern, Permission, described
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Operation, Status
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    listener = sasl_plain("CLIENTS", {"mirror": "mirror-secret"})
    with running_clusters(ClusterSpec("guarded", listeners=[listener], settings=ACCESS_CONTROL)) as (cluster,):
        yield cluster


@pytest.fixture
def admin(guarded: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture
def stock_client(guarded: EmbeddedCluster) -> Iterator[KafkaAdminClient]:
    with KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers.split(",")) as client:
        yield client


def test_an_acl_reads_as_a_sentence() -> None:
    assert str(Acl("t", "User:u", Operation.Read)) == "t: allow User:u Read from host *"
    forbidden = Acl("t", "User:u", AllOperations.All, Permission.DENY, "10.0.0.1", Pattern.PREFIXED)
    assert str(forbidden) == "t: deny User:u All from host 10.0.0.1, for all topics that begin so"


def test_kinds_that_are_not_known_yet_are_passed_over() -> None:
    known = Part(principal="User:u", host="*", operation=3, permission_type=3)
    unknown = Part(principal="User:u", host="*", operation=99, permission_type=3)
    resources = [
        Part(resource_name="t", pattern_type=3, acls=[unknown, known]),
        Part(resource_name="u", pattern_type=9, acls=[known]),
    ]
    assert list(described(Part(resources=resources))) == [Acl("t", "User:u", Operation.Read)]


@pytest.mark.kafka
def test_all_acls_on_topics_are_told_and_no_others(admin: Admin, stock_client: KafkaAdminClient) -> None:
    literal, prefixed = ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED
    topic, group = ResourceType.TOPIC, ResourceType.GROUP
    allow, deny = ACLPermissionType.ALLOW, ACLPermissionType.DENY
    stock_client.create_acls(
        [
            ACL("User:one", "*", ACLOperation.READ, allow, ResourcePattern(topic, "told-a", literal)),
            ACL("User:one", "10.0.0.1", ACLOperation.ALL, deny, ResourcePattern(topic, "told-", prefixed)),
            ACL("User:one", "*", ACLOperation.READ, allow, ResourcePattern(group, "told-group", literal)),
        ]
    )
    expected = {
        Acl("told-a", "User:one", Operation.Read),
        Acl("told-", "User:one", AllOperations.All, Permission.DENY, "10.0.0.1", Pattern.PREFIXED),
    }
    wait_until(lambda: expected <= (admin.topic_acls() or set()), "the ACLs", 10)
    assert {acl for acl in admin.topic_acls() or () if acl.topic.startswith("told-")} == expected


@pytest.mark.kafka
def test_acls_are_created_once(admin: Admin, stock_client: KafkaAdminClient) -> None:
    wanted = [
        Acl("made-a", "User:two", Operation.Read),
        Acl("made-a", "User:two", AllOperations.All, Permission.DENY, "10.0.0.2"),
        Acl("made-", "User:two", Operation.DescribeConfigs, pattern=Pattern.PREFIXED),
    ]
    for _ in range(2):
        assert {outcome.status for outcome in admin.create_acls(wanted).values()} == {Status.DONE}
    everything = ACLFilter(
        "User:two",
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(ResourceType.TOPIC, None, ACLResourcePatternType.ANY),
    )
    wait_until(lambda: len(stock_client.describe_acls(everything)[0]) == len(wanted), "three ACLs", 10)
    assert {acl for acl in admin.topic_acls() or () if acl.principal == "User:two"} == set(wanted)


@pytest.mark.kafka
def test_acls_are_deleted_one_by_one(admin: Admin) -> None:
    gone = Acl("unmade", "User:*", Operation.Write, Permission.DENY)
    kept = [
        Acl("unmade", "User:*", Operation.Write),
        Acl("unmade", "User:*", Operation.Write, Permission.DENY, "10.0.0.1"),
        Acl("unmade", "User:*", Operation.Write, Permission.DENY, pattern=Pattern.PREFIXED),
        Acl("unmade", "User:four", Operation.Write, Permission.DENY),
        Acl("unmade", "User:*", AllOperations.All, Permission.DENY),
        Acl("unmade-too", "User:*", Operation.Write, Permission.DENY),
    ]
    admin.create_acls([gone, *kept])
    wait_until(lambda: {gone, *kept} <= (admin.topic_acls() or set()), "the ACLs", 10)
    for _ in range(2):
        assert {outcome.status for outcome in admin.delete_acls([gone]).values()} == {Status.DONE}
    wait_until(lambda: gone not in (admin.topic_acls() or set()), "the end of one", 10)
    assert {acl for acl in admin.topic_acls() or () if acl.topic.startswith("unmade")} == set(kept)
    (broker_id,) = admin.broker_ids()
    assert admin.topic_acls(broker_id) == admin.topic_acls()


@pytest.mark.kafka
def test_one_refused_acl_does_not_stop_the_others(admin: Admin) -> None:
    good, bad = Acl("mixed", "User:three", Operation.Read), Acl("mixed", "nobody", Operation.Read)
    outcomes = admin.create_acls([good, bad])
    assert (outcomes[good].status, outcomes[bad].status) == (Status.DONE, Status.REFUSED)
    assert "nobody" in outcomes[bad].reason


@pytest.mark.kafka
def test_without_rights_on_the_cluster_acls_are_hidden_and_refused(guarded: EmbeddedCluster) -> None:
    login = Credentials("PLAIN", "mirror", Secret("mirror-secret"))
    with Admin(Access("guarded", guarded.addresses("CLIENTS").split(","), credentials=login)) as mirror:
        with pytest.raises(BrokerRefused, match="guarded: describe ACLs: "):
            mirror.topic_acls()
        (outcome,) = mirror.create_acls([Acl("t", "User:mirror", Operation.Read)]).values()
        assert outcome.status is Status.REFUSED


@pytest.mark.kafka
def test_without_an_authorizer_there_are_none(primary: EmbeddedCluster) -> None:
    with Admin(Access("primary", primary.bootstrap_servers.split(","))) as admin:
        assert admin.topic_acls() is None
        (outcome,) = admin.create_acls([Acl("t", "User:u", Operation.Read)]).values()
        assert (outcome.status, admin.create_acls([])) == (Status.REFUSED, {})
