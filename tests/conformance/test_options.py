"""What MirrorMaker 2's tests expect of flows with settings of their own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.topics import SettingSource, TopicSetting
from tests.conformance.route import Route
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
    records = route.target.own_records(f"mm2-offset-syncs.{route.source.alias}.internal")
    syncs = [OffsetSync.decode(*record) for record in records]
    return {sync.source.partition: sync.downstream_offset for sync in syncs if sync.source.topic == topic}


def test_offset_syncs_topics_on_target(routes: Routes) -> None:
    """Or on the source, if the file asks for that; checkpoints appear either way."""
    for name, expected in (("at least once", (False, True)), ("identity", (True, False))):
        route = routes[name]
        topic = group = route.topic()
        route.write(topic, 10)
        route.expect_copy(topic)
        route.await_checkpoints(group, topic, route.commit_after(group, topic, 4))
        wait_until(lambda route=route: any(_offset_syncs_topics(route)), "the topic", 30, 0.2)  # type: ignore[misc]
        assert _offset_syncs_topics(route) == expected


def _offset_syncs_topics(route: Route) -> tuple[bool, bool]:
    """Whether there is one on the source, and whether on the target; each carries the other's name."""
    return (
        f"mm2-offset-syncs.{route.target.alias}.internal" in route.source.topics(),
        f"mm2-offset-syncs.{route.source.alias}.internal" in route.target.topics(),
    )


def test_sync_topic_configs(routes: Routes) -> None:
    """What is included is overwritten on the target, what is excluded stays."""
    route = routes["exactly once"]
    topic = route.new_topic({"retention.bytes": "1000000", "delete.retention.ms": "1000"})
    route.await_topic(topic)
    route.target.set(route.copy_of(topic), {"retention.bytes": "2000000", "delete.retention.ms": "2000"})

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
