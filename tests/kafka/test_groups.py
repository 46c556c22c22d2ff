"""Consumer groups, asked of real brokers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import kafka
import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.groups import Change, ChangeResult, Committed, GroupInfo, Groups, GroupType
from heliograph.kafka.network import GROUP, Network
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo.groups import state_of

pytestmark = pytest.mark.kafka

TOPIC = "groups-topic"
FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


@pytest.fixture(scope="module")
def access(primary: EmbeddedCluster) -> Access:
    made = Access("primary", primary.bootstrap_servers.split(","))
    with Admin(made) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1), NewTopic("groups-wide", 1000, 1)])
        assert admin.wait_for_topics({TOPIC: 2, "groups-wide": 1000}, patience=30) == []
    return made


@pytest.fixture
def groups(access: Access) -> Iterator[Groups]:
    with Groups(access) as groups:
        yield groups


def _is_stable(groups: Groups, name: str) -> bool:
    """It may not be listed yet: at first a member is still looking for its coordinator."""
    found = groups.list().get(name)
    return found is not None and found.state == "Stable"


@pytest.fixture(params=GroupType)
def member(access: Access, groups: Groups, request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a group with one member."""
    name = f"groups-busy-{request.param.value}"
    if request.param is GroupType.CONSUMER:
        join_by_new_protocol(access, name)
        yield name
        return
    with closing(KafkaConsumer(TOPIC, group_id=name, **access.client_settings())) as consumer:
        wait_until(lambda: not consumer.poll(50) and _is_stable(groups, name), "a stable group")
        yield name


def join_by_new_protocol(access: Access, group: str) -> None:
    """One heartbeat of a new member (KIP-848), which the coordinator remembers for 45 s; stock Python has no such."""
    answers: list[bytes] = []

    def text(value: str) -> bytes:
        return bytes([len(value) + 1]) + value.encode()

    with closing(Loop()) as loop:
        connection = Network(loop, access).coordinator(group, GROUP)
        subscribed = b"\x02" + text(TOPIC)
        body = text(group) + text("") + b"\0\0\0\0" + b"\0\0" + b"\0\0\xea\x60" + subscribed + b"\0" + b"\x01" + b"\0"
        connection.send(68, 0, True, [body], lambda answer: answers.append(bytes(answer)))
        loop.run_until(lambda: bool(answers))
    assert answers[0][9:11] == b"\0\0", answers[0]  # no error


def test_what_was_committed_is_read_back_with_its_metadata_and_epoch(groups: Groups) -> None:
    wanted = {FIRST: Committed(17, "noted äöü", 0), SECOND: Committed(0)}
    results = groups.commit({"groups-new": wanted})
    assert results == {"groups-new": dict.fromkeys(wanted, ChangeResult(Change.DONE))}
    assert groups.committed(["groups-new"]) == {"groups-new": wanted}


def test_a_stock_consumer_goes_on_where_we_committed(access: Access, groups: Groups) -> None:
    groups.commit({"groups-stock": {FIRST: Committed(5, "here")}})
    with closing(KafkaConsumer(group_id="groups-stock", **access.client_settings())) as consumer:
        assert consumer.committed(kafka.TopicPartition(*FIRST)) == 5


def test_a_group_that_does_not_exist_has_committed_nothing(groups: Groups) -> None:
    assert groups.committed(["groups-nowhere"]) == {"groups-nowhere": {}}
    assert groups.committed([]) == {}
    assert groups.commit({"groups-nowhere": {}}) == {}


def test_a_group_that_only_holds_commits_is_listed_as_empty(groups: Groups) -> None:
    groups.commit({"groups-listed": {FIRST: Committed(1)}})
    info = groups.list()["groups-listed"]
    assert info == GroupInfo("groups-listed", GroupType.CLASSIC, "Empty")
    assert not info.has_members


def test_a_group_with_members_is_listed_as_such_and_takes_no_commits_from_outside(groups: Groups, member: str) -> None:
    wait_until(lambda: state_of(groups, member) == "Stable", "a stable group")
    assert groups.list()[member] == GroupInfo(member, GroupType(member.removeprefix("groups-busy-")), "Stable")
    assert groups.list()[member].has_members
    assert groups.commit({member: {FIRST: Committed(1)}})[member][FIRST].change is Change.HAS_MEMBERS
    assert groups.delete([member])[member].change is Change.HAS_MEMBERS
    assert groups.committed([member]) == {member: {}}


def test_one_group_with_members_does_not_keep_others_from_their_commits(groups: Groups, member: str) -> None:
    results = groups.commit({member: {FIRST: Committed(1)}, "groups-beside": {FIRST: Committed(2)}})
    assert results[member][FIRST].change is Change.HAS_MEMBERS
    assert results["groups-beside"][FIRST].change is Change.DONE


def test_a_partition_that_does_not_exist_is_refused_alone(groups: Groups) -> None:
    nowhere = TopicPartition("groups-no-topic", 0)
    results = groups.commit({"groups-partly": {FIRST: Committed(3), nowhere: Committed(4)}})["groups-partly"]
    assert results[FIRST].change is Change.DONE
    assert results[nowhere].change is Change.REFUSED
    assert results[nowhere].reason == "UNKNOWN_TOPIC_OR_PARTITION"


def test_groups_are_deleted(groups: Groups) -> None:
    groups.commit({"groups-gone": {FIRST: Committed(1)}})
    results = groups.delete(["groups-gone", "groups-never-there"])
    assert results["groups-gone"] == ChangeResult(Change.DONE)
    assert results["groups-never-there"].change is Change.NOT_THERE
    assert "groups-gone" not in groups.list()


def test_single_offsets_are_deleted(groups: Groups) -> None:
    groups.commit({"groups-less": {FIRST: Committed(1), SECOND: Committed(2)}})
    assert groups.delete_offsets("groups-less", [FIRST]) == {FIRST: ChangeResult(Change.DONE)}
    assert groups.committed(["groups-less"]) == {"groups-less": {SECOND: Committed(2)}}
    assert groups.delete_offsets("groups-never-there", [FIRST])[FIRST].change is Change.NOT_THERE


def test_two_hundred_groups_of_a_thousand_partitions_are_read_and_written_in_seconds(groups: Groups) -> None:
    wanted = {TopicPartition("groups-wide", number): Committed(number, "", -1) for number in range(1000)}
    names = [f"groups-many-{number}" for number in range(200)]
    started = time.monotonic()
    results = groups.commit(dict.fromkeys(names, wanted))
    written = time.monotonic()
    found = groups.committed(names)
    read = time.monotonic()
    print(f"written in {written - started:.1f} s, read in {read - written:.1f} s")
    assert all(item.change is Change.DONE for result in results.values() for item in result.values())
    assert found == dict.fromkeys(names, wanted)
    assert read - started < 15  # measured: about 3 s on two cores that also run the broker
