"""What MirrorMaker 2's tests expect in all variants: exactly once, TLS, transactional producers, identity policy."""

from __future__ import annotations

import pytest

from tests.conformance.at_once import AtOnce
from tests.conformance.route import Route, expect_monotonic
from tests.conformance.site import ALL, PARTITIONS
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_ALL = ("at least once", "exactly once", "transactions", "identity", "tls")
# Transactional producers write to flows that mirror exactly once: what holds for them holds for others there too.
_GROUPS = ("at least once", "transactions", "identity")


@pytest.mark.parametrize("variant", _ALL)
def test_replication(variant: str, at_once: AtOnce) -> None:
    at_once.expect(_replication, variant, _ALL)


def _replication(route: Route) -> None:
    """All records, settings, heartbeats, checkpoints; consumers move there and back; later topics follow."""
    topic = group = route.new_topic({"retention.bytes": "123456789", "delete.retention.ms": "123456"})
    route.write(topic, 10)
    route.expect_copy(topic)
    _expect_settings(route, topic)

    places = route.await_checkpoints(group, topic, route.commit_after(group, topic, 7))
    route.expect_rest(topic, places, 7)
    if route.is_two_way:
        _expect_way_back(route, topic)
    if route.has_heartbeats:
        _expect_heartbeats(route)

    later = route.new_topic()
    route.write(later, 10, partitions=[3])
    route.expect_copy(later)
    route.await_checkpoints(group, topic, route.commit_after(group, topic, 10))
    expect_monotonic(route.checkpoints(group, topic))


def _expect_settings(route: Route, topic: str) -> None:
    settings = route.target.settings(route.copy_of(topic))
    assert len(route.target.read(route.copy_of(topic))) == PARTITIONS
    assert settings["retention.bytes"].value == "123456789"
    assert settings["delete.retention.ms"].is_default  # excluded


def _expect_way_back(route: Route, topic: str) -> None:
    """The same topic is written on the other side too; and a consumer that has moved goes on at home."""
    back, copy, group = route.back, route.copy_of(topic), topic
    back.source.create(topic)
    back.write(topic, 10)
    back.expect_copy(topic)

    home = back.await_checkpoints(group, copy, back.commit_after(group, copy, 9))
    back.expect_rest(copy, home, 9)
    assert not {f"{back.source.alias}.{copy}", f"{route.source.alias}.{back.copy_of(topic)}"} & {
        *route.source.topics(),
        *route.target.topics(),
    }


def _expect_heartbeats(route: Route) -> None:
    here, there = route.source.alias, route.target.alias
    wait_until(lambda: (here, there) in route.heartbeats("heartbeats"), "heartbeats on the target", 30, 0.2)
    wait_until(lambda: (there, here) in route.heartbeats(f"{here}.heartbeats"), "mirrored heartbeats", 30, 0.2)
    with route.client() as client:
        assert client.replication_hops(here) == 1
        assert here in client.upstream_clusters()
        assert {"heartbeats", f"{here}.heartbeats"} <= client.heartbeat_topics()
        assert f"{here}.checkpoints.internal" in client.checkpoint_topics()


@pytest.mark.parametrize("variant", _GROUPS)
def test_replication_with_empty_partition(variant: str, at_once: AtOnce) -> None:
    at_once.expect(_replication_with_empty_partition, variant, _GROUPS)


def _replication_with_empty_partition(route: Route) -> None:
    topic = group = route.topic()
    empty = PARTITIONS - 1
    route.write(topic, 4, ALL[:empty])
    route.expect_copy(topic)
    route.commit_after(group, topic, 4)

    places = route.await_group(group, topic)
    assert places[empty] == 0
    route.expect_rest(topic, places, 4)

    route.write(topic, 1)
    route.expect_copy(topic)
    went_on = route.target.read(route.copy_of(topic), places)
    assert {number: len(records) for number, records in went_on.items()} == dict.fromkeys(ALL, 1)


@pytest.mark.parametrize("variant", _GROUPS)
def test_one_way_replication_with_auto_offset_sync(variant: str, at_once: AtOnce) -> None:
    at_once.expect(_one_way_replication_with_auto_offset_sync, variant, _GROUPS)


def _one_way_replication_with_auto_offset_sync(route: Route) -> None:
    """Groups follow, also to a topic that came later, without a record read twice; nothing comes back."""
    topic = group = route.topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    route.commit_after(group, topic, 10)
    route.expect_rest(topic, route.await_group(group, topic), 10)

    later = route.new_topic()
    route.write(later, 10)
    route.expect_copy(later)
    route.commit_after(group, later, 5)
    route.expect_rest(later, route.await_group(group, later), 5)
    reverse = {f"{route.target.alias}.{name}" for item in (topic, later) for name in (item, route.copy_of(item))}
    assert not reverse & route.source.topics()


@pytest.mark.parametrize("variant", _GROUPS)
def test_no_checkpoints_if_no_records_are_mirrored(variant: str, at_once: AtOnce) -> None:
    at_once.expect(_no_checkpoints_if_no_records_are_mirrored, variant, _GROUPS)


def _no_checkpoints_if_no_records_are_mirrored(route: Route) -> None:
    topic, untouched = route.topic(), route.topic()
    group = topic
    route.await_topic(untouched)
    route.write(topic, 3)
    route.expect_copy(topic)
    route.source.commit(group, untouched, dict.fromkeys(ALL, 0))
    route.await_checkpoints(group, topic, route.commit_after(group, topic, 3))
    assert route.checkpoints(group, untouched) == []

    route.write(untouched, 3)
    route.expect_copy(untouched)
    route.await_checkpoints(group, untouched, route.commit_after(group, untouched, 2))


@pytest.mark.parametrize("variant", _GROUPS)
def test_offset_translation_behind_replication_flow(variant: str, at_once: AtOnce) -> None:
    at_once.expect(_offset_translation_behind_replication_flow, variant, _GROUPS)


def _offset_translation_behind_replication_flow(route: Route) -> None:
    """A group far behind is translated exactly, forth and, if it is set back, back; the target's group stays."""
    topic = group = route.topic()
    route.write(topic, 30)
    route.expect_copy(topic)
    places: dict[int, int] = {}
    for consumed in (12, 27):
        places = route.await_checkpoints(group, topic, route.commit_after(group, topic, consumed))
        route.expect_rest(topic, places, consumed)
        route.await_group_at(group, topic, places)

    rewound = route.await_checkpoints(group, topic, route.commit_after(group, topic, 3))
    route.expect_rest(topic, rewound, 3)
    first = [item.downstream_offset for item in route.checkpoints(group, topic) if item.target.partition == 0]
    assert first[-1] < first[0] < first[-2] == max(first)
    assert route.target.committed(group, route.copy_of(topic)) == places
