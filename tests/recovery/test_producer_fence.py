"""Topics that are closed to producers, really, and opened again exactly as they were."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from kafka import KafkaProducer
from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType
from kafka.errors import KafkaError, MessageSizeTooLargeError, TopicAuthorizationFailedError

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.errors import FenceFailed
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.acls import Acl, Pattern, Permission
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, Operation, SettingSource
from heliograph.model import TopicPartition
from heliograph.recovery.producers.fence import Fence, FenceWay, ProducerFence
from heliograph.recovery.producers.watch import ProducerWatch
from tests.recovery.writers import writing
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction

pytestmark = pytest.mark.kafka
LIMIT = "max.message.bytes"


@pytest.fixture(scope="module")
def admin(primary: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("a", primary.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture
def fence(admin: Admin) -> ProducerFence:
    return ProducerFence(admin, FenceWay.TOPIC)


@pytest.fixture
def topic(primary: EmbeddedCluster) -> str:
    return create_topic(primary.bootstrap_servers, fresh_name("fenced"))


def own_settings(admin: Admin, topic: str) -> dict[str, str | None]:
    settings = admin.topic_settings([topic])[topic]
    return {name: setting.value for name, setting in settings.items() if setting.source is SettingSource.TOPIC}


def end_of(admin: Admin, topic: str) -> int:
    return admin.end_offsets([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]


def write(bootstrap_servers: str, topic: str, value: bytes = b"v" * 100, acks: str | int = "all") -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers, acks=acks, retries=0, enable_idempotence=False, max_block_ms=10_000
    )
    with closing(producer):
        producer.send(topic, value, partition=0).get(10)


# -- by the size of batches --------------------------------------------------------------------------------


def test_a_closed_topic_takes_nothing_and_an_opened_one_everything(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str
) -> None:
    planned = fence.plan([topic])
    assert not fence.is_applied(planned)
    fence.apply(planned)
    assert fence.is_applied(planned)
    for value in (b"v" * 100, b"tiny", b""):
        for acks in ("all", 1):
            with pytest.raises(MessageSizeTooLargeError):
                write(primary.bootstrap_servers, topic, value, acks)
        write(primary.bootstrap_servers, topic, value, acks=0)  # nobody tells such a producer
    assert end_of(admin, topic) == 0
    fence.lift(planned)
    assert not fence.is_applied(planned)
    write(primary.bootstrap_servers, topic)
    assert end_of(admin, topic) == 1


@pytest.mark.parametrize("before", [{}, {LIMIT: "50000"}, {LIMIT: "50000", "flush.ms": "7"}])
def test_settings_are_put_back_exactly(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, before: dict[str, str]
) -> None:
    topic = create_topic(primary.bootstrap_servers, fresh_name("fenced-exact"), settings=before)
    earlier = own_settings(admin, topic)
    planned = fence.plan([topic])
    assert planned.before == {topic: before.get(LIMIT)}
    fence.apply(planned)
    assert own_settings(admin, topic) == {**earlier, LIMIT: "1"}
    fence.lift(planned)
    assert own_settings(admin, topic) == earlier


def test_a_second_run_remembers_what_was_there_before_the_first(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence
) -> None:
    settings = {LIMIT: "50000"}
    one, two = (create_topic(primary.bootstrap_servers, fresh_name("fenced-again"), settings=settings) for _ in "12")
    first = fence.plan([one])
    fence.apply(first)
    again = fence.plan([one, two], Fence.from_dict(json.loads(json.dumps(first.to_dict()))))
    assert again.before == {one: "50000", two: "50000"}
    for _ in range(2):
        fence.apply(again)
    assert fence.is_applied(again)
    for _ in range(2):
        fence.lift(again)
    assert own_settings(admin, one)[LIMIT] == own_settings(admin, two)[LIMIT] == "50000"


def test_a_second_run_forgets_no_topic_of_the_first(admin: Admin, fence: ProducerFence, topic: str) -> None:
    first = fence.plan([topic])
    fence.apply(first)
    again = fence.plan([], first)
    assert again == first
    fence.lift(again)
    assert fence.plan([], first).topics == []


def test_an_earlier_memory_does_not_count_where_the_fence_is_not_up(
    admin: Admin, fence: ProducerFence, topic: str
) -> None:
    never_applied = fence.plan([topic])
    admin.alter_topic_settings({topic: {LIMIT: "60000"}})
    wait_until(lambda: own_settings(admin, topic).get(LIMIT) == "60000", "the setting", 10)
    assert fence.plan([topic], never_applied).before == {topic: "60000"}


def test_lifting_what_was_never_up_or_was_changed_since_does_nothing(
    admin: Admin, fence: ProducerFence, topic: str
) -> None:
    planned = replace(fence.plan([topic]), before={topic: "12345"})
    earlier = own_settings(admin, topic)
    fence.lift(planned)
    assert own_settings(admin, topic) == earlier
    fence.apply(planned)
    admin.alter_topic_settings({topic: {LIMIT: "60000"}})
    wait_until(lambda: own_settings(admin, topic).get(LIMIT) == "60000", "the setting", 10)
    fence.lift(planned)
    assert own_settings(admin, topic)[LIMIT] == "60000"


def test_a_half_made_fence_is_lifted_where_it_is_up(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str
) -> None:
    other = create_topic(primary.bootstrap_servers, fresh_name("fenced-half"), settings={LIMIT: "50000"})
    planned = fence.plan([topic, other])
    fence.apply(replace(planned, before={topic: None}))
    assert not fence.is_applied(planned)
    fence.lift(planned)
    assert (LIMIT in own_settings(admin, topic), own_settings(admin, other)[LIMIT]) == (False, "50000")


def test_a_topic_that_was_closed_before_stays_so_and_is_told(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str
) -> None:
    closed = create_topic(primary.bootstrap_servers, fresh_name("fenced-before"), settings={LIMIT: "20"})
    planned = fence.plan([topic, closed])
    assert fence.closed_before(planned) == [closed]
    fence.apply(planned)
    fence.lift(planned)
    assert own_settings(admin, closed)[LIMIT] == "20"


def test_topics_that_are_gone_need_no_fence(fence: ProducerFence, topic: str) -> None:
    planned = fence.plan([topic, "fenced-nowhere"])
    assert planned.topics == [topic]
    with_gone = replace(planned, before={topic: None, "fenced-nowhere": "5"})
    fence.apply(with_gone)
    assert fence.is_applied(with_gone)
    fence.lift(with_gone)


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_that_is_open_can_end_and_the_next_one_works(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str, commit: bool
) -> None:
    where = TopicPartition(topic, 0)
    with raw.network(primary.bootstrap_servers, topic) as connected:
        transaction = RawTransaction(connected, f"tx-{topic}", where)
        transaction.write(3, 0)
        planned = fence.plan([topic])
        fence.apply(planned)
        with pytest.raises(AssertionError, match="error_code=10"):
            transaction.write(5, 10)
        transaction.end(commit)
        assert ProducerWatch(admin, [where]).quiet_for(0.2, 10) == {where: 4}
        fence.lift(planned)
        again = RawTransaction(connected, f"tx-{topic}", where)
        again.write(2, 20)
        again.end(commit=True)
    assert ProducerWatch(admin, [where]).quiet_for(0.2, 10) == {where: 7}


def test_who_wrote_in_transactions_before_may_be_in_one_unseen(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str
) -> None:
    with raw.network(primary.bootstrap_servers, topic) as connected:
        transaction = RawTransaction(connected, f"past-{topic}", TopicPartition(topic, 0))
        transaction.write(1, 0)
        transaction.end(commit=True)
        planned = fence.plan([topic])
        fence.apply(planned)
        assert own_settings(admin, topic)[LIMIT] == "78"
        fence.apply(planned)
        fence.lift(planned)


def test_behind_a_fence_it_is_quiet_though_producers_try_on(
    primary: EmbeddedCluster, admin: Admin, fence: ProducerFence, topic: str
) -> None:
    where = TopicPartition(topic, 0)
    planned = fence.plan([topic])
    with writing(primary.bootstrap_servers, where) as writer:
        wait_until(lambda: writer.taken > 5, "some records", 10)
        fence.apply(planned)
        ends = ProducerWatch(admin, [where]).quiet_for(0.5, 5)
        assert ends == {where: writer.taken}
        wait_until(lambda: writer.refusals == {"MessageSizeTooLargeError"}, "a refusal", 10)
        fence.lift(planned)
        wait_until(lambda: writer.taken > ends[where], "records again", 10)


def test_a_fence_of_another_cluster_or_kind_is_not_touched(fence: ProducerFence, topic: str) -> None:
    planned = fence.plan([topic])
    stranger = replace(planned, cluster_id="another")
    for act in (fence.apply, fence.lift):
        with pytest.raises(FenceFailed, match="a: the fence belongs to another cluster, another"):
            act(stranger)
        with pytest.raises(FenceFailed, match="the fence was made the way acl, not topic"):
            act(replace(planned, way=FenceWay.ACL))
    assert not fence.is_applied(stranger)
    fence.apply(planned)
    assert fence.plan([topic], stranger).before == {topic: "1"}
    fence.lift(planned)


# -- by access rights --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    """Two brokers that ask producers for their passwords."""
    listener = sasl_plain("CLIENTS", {"writer": "writer-secret"})
    spec = ClusterSpec("guarded", brokers=2, listeners=[listener], settings=ACCESS_CONTROL, heap="256m")
    with running_clusters(spec) as (cluster,):
        with Admin(Access("guarded", cluster.bootstrap_servers.split(","))) as admin:
            allowed = [Acl("acl-", "User:writer", operation, pattern=Pattern.PREFIXED) for operation in _ALLOWED]
            admin.create_acls(allowed)
        yield cluster


_ALLOWED = (Operation.Write, Operation.Describe, Operation.DescribeConfigs)


@pytest.fixture
def guarded_admin(guarded: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("guarded", guarded.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture
def writer_access(guarded: EmbeddedCluster) -> Access:
    login = Credentials("PLAIN", "writer", Secret("writer-secret"))
    return Access("guarded", guarded.addresses("CLIENTS").split(","), credentials=login)


def make_topic(admin: Admin, prefix: str) -> str:
    name = fresh_name(prefix)
    admin.create_topic(NewTopic(name, 4, 1))
    assert admin.wait_for_topics({name: 4}) == []
    return name


def tried(access: Access, topic: str) -> set[str]:
    """What a producer is answered that writes one record to each partition; empty: nothing but yes."""
    producer = KafkaProducer(
        **access.client_settings(), retries=0, enable_idempotence=False, max_block_ms=10_000
    )  # fmt: skip
    found: set[str] = set()
    with closing(producer):
        for number in range(4):
            try:
                producer.send(topic, b"value", partition=number).get(10)
            except KafkaError as error:
                found.add(type(error).__name__)
    return found


def rules_on(admin: Admin, topic: str) -> set[Acl]:
    return {acl for acl in admin.topic_acls() or () if acl.topic == topic}


def test_a_rule_keeps_writers_out_on_all_brokers_at_once(
    guarded: EmbeddedCluster, guarded_admin: Admin, writer_access: Access
) -> None:
    topic = make_topic(guarded_admin, "acl-closed")
    fence = ProducerFence(guarded_admin, FenceWay.ACL)
    wait_until(lambda: tried(writer_access, topic) == set(), "the right to write", 20)
    planned = fence.plan([topic])
    assert planned.before == {topic: None}
    for _ in range(2):
        fence.apply(planned)
        assert fence.is_applied(planned)
        assert tried(writer_access, topic) == {TopicAuthorizationFailedError.__name__}
    assert rules_on(guarded_admin, topic) == {Acl(topic, "User:*", Operation.Write, Permission.DENY)}
    assert fence.plan([topic], planned) == planned
    for _ in range(2):
        fence.lift(planned)
        assert not fence.is_applied(planned)
        assert tried(writer_access, topic) == set()
    assert rules_on(guarded_admin, topic) == set()


def test_topics_are_not_closed_in_two_ways_of_which_one_would_be_forgotten(guarded_admin: Admin) -> None:
    topic = make_topic(guarded_admin, "acl-two-ways")
    by_rule, by_size = (ProducerFence(guarded_admin, way) for way in (FenceWay.ACL, FenceWay.TOPIC))
    earlier = by_rule.plan([topic])
    assert by_size.plan([topic], earlier).topics == [topic]
    by_rule.apply(earlier)
    with pytest.raises(FenceFailed, match=f"guarded: {topic}: still closed the way acl: open it first"):
        by_size.plan([topic], earlier)
    by_rule.lift(earlier)
    assert by_size.plan([topic], earlier).topics == [topic]


def test_rules_of_others_stay(guarded_admin: Admin) -> None:
    closed, topic = make_topic(guarded_admin, "acl-before"), make_topic(guarded_admin, "acl-others")
    denial = Acl(closed, "User:*", Operation.Write, Permission.DENY)
    others = {
        Acl(topic, "User:*", Operation.Read, Permission.DENY),
        Acl(topic, "User:*", Operation.Write, Permission.DENY, "10.1.2.3"),
        Acl(topic, "User:mallory", Operation.Write, Permission.DENY),
        Acl(topic, "User:*", Operation.Write),
    }
    guarded_admin.create_acls([denial, *others])
    wait_until(lambda: {denial, *others} <= (guarded_admin.topic_acls() or set()), "the rules", 10)
    fence = ProducerFence(guarded_admin, FenceWay.ACL)
    planned = fence.plan([closed, topic])
    assert fence.closed_before(planned) == [closed]
    fence.apply(planned)
    assert len(rules_on(guarded_admin, topic)) == 5
    fence.lift(planned)
    assert (rules_on(guarded_admin, closed), rules_on(guarded_admin, topic)) == ({denial}, others)


def test_without_an_authorizer_it_says_what_else_there_is(admin: Admin, topic: str) -> None:
    with pytest.raises(FenceFailed, match=r"^a has no authorizer, .* the way topic, or stop the producers$"):
        ProducerFence(admin, FenceWay.ACL).plan([topic])


def test_without_the_right_to_it_nothing_is_closed(guarded_admin: Admin, writer_access: Access) -> None:
    topic = make_topic(guarded_admin, "acl-powerless")
    with Admin(writer_access) as powerless:
        fence = ProducerFence(powerless, FenceWay.TOPIC)
        wait_until(lambda: bool(powerless.topics([topic])), "the right to see it", 10)
        with pytest.raises(FenceFailed, match=f"^guarded: User:writer lacks AlterConfigs on {topic}$"):
            fence.plan([topic])
        planned = ProducerFence(guarded_admin, FenceWay.TOPIC).plan([topic])
        with pytest.raises(FenceFailed, match=f"guarded: cannot close {topic}: "):
            fence.apply(planned)


def test_who_may_only_look_at_rules_is_told_before_anything_is_closed(
    guarded: EmbeddedCluster, guarded_admin: Admin, writer_access: Access
) -> None:
    topic = make_topic(guarded_admin, "acl-looking")
    cluster = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")
    with KafkaAdminClient(bootstrap_servers=guarded.bootstrap_servers.split(",")) as client:
        client.create_acls([ACL("User:writer", "*", ACLOperation.DESCRIBE, ACLPermissionType.ALLOW, cluster)])
    with Admin(writer_access) as powerless:
        wait_until(lambda: Operation.Describe in powerless.cluster_rights(), "the right to see rules", 10)
        with pytest.raises(FenceFailed, match=r"^guarded: User:writer lacks Alter on the cluster$"):
            ProducerFence(powerless, FenceWay.ACL).plan([topic])


def test_it_comes_back_only_when_every_broker_has_taken_over_the_change(guarded_admin: Admin) -> None:
    """A cluster whose second broker is behind: what it has is shown to be open for two looks more."""
    topic = make_topic(guarded_admin, "acl-behind")

    class Behind(Admin):
        looks = 0

        def topic_settings(self, names: Collection[str], broker_id: int | None = None):  # type: ignore[no-untyped-def]
            found = super().topic_settings(names, broker_id)
            if broker_id == 2 and found[topic][LIMIT].value == "1":
                self.looks += 1
                if self.looks < 3:
                    return {topic: {LIMIT: replace(found[topic][LIMIT], value="1000", source=SettingSource.DEFAULT)}}
            return found

    with Behind(guarded_admin.access) as behind:
        assert behind.broker_ids() == [1, 2]
        fence = ProducerFence(behind, FenceWay.TOPIC)
        planned = fence.plan([topic])
        fence.apply(planned)
        assert behind.looks >= 3
        fence.lift(planned)
