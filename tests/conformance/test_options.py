"""What MirrorMaker 2's tests expect of flows with settings of their own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.topics import SettingSource, TopicSetting
from tests.conformance.route import Route
from tests.conformance.site import PARTITIONS
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

Routes = Mapping[str, Route]


def test_one_way_replication_with_frequent_offset_syncs(routes: Routes) -> None:
    """With a lag of 0, the newest sync of each partition is that of its last record."""
    route = routes["exactly once"]
    topic = group = route.topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    route.commit_after(group, topic, 10)
    route.expect_rest(topic, route.await_group(group, topic), 10)

    last = {number: records[-1].offset for number, records in route.target.read(route.copy_of(topic)).items()}
    wait_until(lambda: _synced_to(route, topic) == last, "a sync of the last records", 30, 0.2)


def _synced_to(route: Route, topic: str) -> dict[int, int]:
    records = route.target.own_records(_syncs_on_target(route))
    syncs = [OffsetSync.decode(*record) for record in records]
    return {sync.source.partition: sync.downstream_offset for sync in syncs if sync.source.topic == topic}


def test_replication_without_offset_sync_will_not_create_offset_syncs_topic(routes: Routes) -> None:
    """And groups follow all the same: they are translated by the ledger."""
    route = routes["at least once"]
    topic = group = route.topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    places = route.await_checkpoints(group, topic, route.commit_after(group, topic, 4))
    route.expect_rest(topic, places, 4)
    route.expect_rest(topic, route.await_group(group, topic), 4)
    assert not {_syncs_on_source(route), _syncs_on_target(route)} & {*route.source.topics(), *route.target.topics()}


def test_cluster_with_emit_offset_disabled(routes: Routes) -> None:
    """The flows beside it write theirs."""
    quiet, other = routes["at least once"], routes["tls"]
    for route in (quiet, other):
        topic = route.topic()
        route.write(topic, 10)
        route.expect_copy(topic)
    wait_until(lambda: _syncs_on_target(other) in other.target.topics(), "offset syncs", 30, 0.2)
    assert _syncs_on_target(quiet) not in quiet.target.topics()


def test_offset_syncs_topics_on_target(routes: Routes) -> None:
    """Or on the source, if the file asks for that; checkpoints appear either way."""
    there, here = routes["exactly once"], routes["identity"]
    for route in (there, here):
        topic = group = route.topic()
        route.write(topic, 10)
        route.expect_copy(topic)
        route.await_checkpoints(group, topic, route.commit_after(group, topic, 4))
    wait_until(lambda: _syncs_on_target(there) in there.target.topics(), "offset syncs on the target", 30, 0.2)
    assert _syncs_on_target(there) not in there.source.topics()
    wait_until(lambda: _syncs_on_source(here) in here.source.topics(), "offset syncs on the source", 30, 0.2)
    assert not {_syncs_on_source(here), _syncs_on_target(here)} & here.target.topics()


def _syncs_on_target(route: Route) -> str:
    return f"mm2-offset-syncs.{route.source.alias}.internal"


def _syncs_on_source(route: Route) -> str:
    return f"mm2-offset-syncs.{route.target.alias}.internal"


def test_sync_topic_configs(routes: Routes) -> None:
    """What is included is overwritten on the target, what is excluded stays."""
    route = routes["exactly once"]
    topic = route.new_topic({"retention.bytes": "1000000", "delete.retention.ms": "1000"})
    route.await_topic(topic)
    route.target.set(route.copy_of(topic), {"retention.bytes": "2000000", "delete.retention.ms": "2000"})
    wait_until(lambda: _value(route, topic, "delete.retention.ms") == "2000", "what was set to be seen", 30)

    wait_until(lambda: _value(route, topic, "retention.bytes") == "1000000", "the source's setting", 30, 0.2)
    assert _value(route, topic, "delete.retention.ms") == "2000"


def test_replicate_source_default(routes: Routes) -> None:
    """What the source's topic leaves at default is set on the target to the source's default."""
    route = routes["tls"]
    topic = route.new_topic({"retention.bytes": "1000000"})
    route.await_topic(topic)
    route.target.set(route.copy_of(topic), {"index.interval.bytes": "8192"})

    default = route.source.settings(topic)["index.interval.bytes"]
    assert default.is_default
    wait_until(lambda: _value(route, topic, "index.interval.bytes") == default.value, "the source's default", 30, 0.2)
    assert _setting(route, topic, "index.interval.bytes").source is SettingSource.TOPIC

    assert _value(route, topic, "retention.bytes") == "1000000"
    route.source.set(topic, {"retention.bytes": None})
    wait_until(lambda: _value(route, topic, "retention.bytes") == "-1", "the source's default again", 30, 0.2)


def test_replicate_target_default(routes: Routes) -> None:
    """What the source's topic leaves at default goes back to the target's default."""
    route = routes["exactly once"]
    topic = route.new_topic({"retention.bytes": "1000000"})
    route.await_topic(topic)
    route.target.set(route.copy_of(topic), {"index.interval.bytes": "8192"})
    wait_until(lambda: _setting(route, topic, "index.interval.bytes").is_default, "the target's default", 30, 0.2)

    assert _value(route, topic, "retention.bytes") == "1000000"
    route.source.set(topic, {"retention.bytes": None})
    wait_until(lambda: _setting(route, topic, "retention.bytes").is_default, "the default again", 30, 0.2)


def _value(route: Route, topic: str, name: str) -> str | None:
    return _setting(route, topic, name).value


def _setting(route: Route, topic: str, name: str) -> TopicSetting:
    return route.target.settings(route.copy_of(topic))[name]


def test_replicate_from_latest(routes: Routes) -> None:
    """Of what was there before nothing is copied; of what comes after the first that is, everything."""
    route = routes["latest"]
    topic = route.new_topic()
    route.write(topic, 10)
    old = route.source.contents(topic)
    route.await_topic(topic)

    def has_begun() -> bool:
        route.write(topic, 1)
        return all(route.target.read(route.copy_of(topic)).values())

    wait_until(has_begun, "a record of each partition", 30, 0.2)
    route.write(topic, 10)
    wait_until(lambda: _has_newest(route, topic), "the newest records", 30, 0.2)
    written, copied = route.source.contents(topic), route.target.contents(route.copy_of(topic))
    assert len(copied) == PARTITIONS
    for number, items in copied.items():
        assert items == written[number][-len(items) :]
        assert not set(items) & set(old[number])


def _has_newest(route: Route, topic: str) -> bool:
    written, copied = route.source.contents(topic), route.target.contents(route.copy_of(topic))
    return all(copied[number][-1:] == items[-1:] for number, items in written.items())
