"""How long the ledger keeps what it knows: as `ledger.retention.ms` says, when it is made and when that changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, SettingSource, TopicSetting
from heliograph.sync.topics import (
    create_topics,
    flow_topics,
    internal_topics,
    keep_internal_settings,
    ledger_topic,
    offsets_topic,
)
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

FOURTEEN_DAYS = 14 * 24 * 60 * 60 * 1000
LEDGER_SEGMENT = 16 * 1024 * 1024
SMALL_SEGMENT = 1024 * 1024


class Site:
    """A flow whose file is written anew with other settings."""

    def __init__(self, folder: Path, target: str) -> None:
        self._file = folder / "mm2.properties"
        self._target = target
        self._alias = fresh_name("keeper")

    def flow(self, settings: str = "") -> FlowConfig:
        """The flow as the file says now."""
        self._file.write_text(
            f"clusters={self._alias},b\n{self._alias}.bootstrap.servers=nowhere:1\n"
            f"b.bootstrap.servers={self._target}\n{self._alias}->b.enabled=true\nreplication.factor=1\n"
            f"ledger.topic.replication.factor=1\noffset.storage.replication.factor=1\n{settings}"
        )
        flow = load(self._file, environment={}).flow(f"{self._alias}->b")
        assert flow is not None
        return flow


@pytest.mark.parametrize(
    ("settings", "expected"),
    [("", str(FOURTEEN_DAYS)), ("ledger.retention.ms=60000\n", "60000"), ("ledger.retention.ms=-1\n", "-1")],
)
def test_the_ledger_is_asked_for_with_that_retention(tmp_path: Path, settings: str, expected: str) -> None:
    flow = Site(tmp_path, "b:1").flow(settings)
    wanted = {topic.name: topic.settings for topic in internal_topics(flow)}
    assert wanted[ledger_topic(flow)] == {
        "cleanup.policy": "delete", "retention.ms": expected, "segment.bytes": str(LEDGER_SEGMENT)
    }  # fmt: skip
    topics, compacted = flow_topics(flow), {"cleanup.policy": "compact"}
    assert wanted[topics.journal] == {
        "cleanup.policy": "delete", "retention.ms": expected, "segment.bytes": str(SMALL_SEGMENT)
    }  # fmt: skip
    assert wanted[topics.offsets] == wanted[topics.state] == compacted | {"segment.bytes": str(SMALL_SEGMENT)}
    assert wanted[topics.offset_map] == compacted | {"segment.bytes": str(LEDGER_SEGMENT)}


# -- real brokers ------------------------------------------------------------------------------------------


@pytest.fixture
def site(backup: EmbeddedCluster, tmp_path: Path) -> Site:
    return Site(tmp_path, backup.bootstrap_servers)


@pytest.fixture
def target(site: Site) -> Iterator[Admin]:
    with Admin(access_for(site.flow().target, "admin")) as admin:
        yield admin


def settings_of(admin: Admin, topic: str) -> dict[str, str | None]:
    """What is set on the topic itself."""
    found: dict[str, TopicSetting] = admin.topic_settings([topic])[topic]
    return {name: item.value for name, item in found.items() if item.source is SettingSource.TOPIC}


def await_settings(admin: Admin, topic: str, expected: dict[str, str]) -> None:
    """Wait until the broker has just these."""
    wait_until(lambda: settings_of(admin, topic) == expected, f"{topic} to have {expected}", 10)


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("settings", "expected"), [("", str(FOURTEEN_DAYS)), ("ledger.retention.ms=-1\n", "-1")], ids=["unsaid", "for-ever"]
)
def test_a_new_ledger_has_the_retention_of_the_file(site: Site, target: Admin, settings: str, expected: str) -> None:
    flow = site.flow(settings)
    create_topics(internal_topics(flow), target)
    assert settings_of(target, ledger_topic(flow)) == {
        "cleanup.policy": "delete", "retention.ms": expected, "segment.bytes": str(LEDGER_SEGMENT)
    }  # fmt: skip
    others = flow_topics(flow).offsets, flow_topics(flow).offset_map, flow_topics(flow).state
    assert all("retention.ms" not in settings_of(target, name) for name in others)


@pytest.mark.kafka
def test_a_ledger_that_is_there_gets_the_retention_that_the_file_asks_for_now(site: Site, target: Admin) -> None:
    flow = site.flow("ledger.retention.ms=86400000\n")
    create_topics(internal_topics(flow), target)
    topic = ledger_topic(flow)
    target.alter_topic_settings({topic: {"segment.bytes": "1048576"}})
    await_settings(target, topic, {"cleanup.policy": "delete", "retention.ms": "86400000", "segment.bytes": "1048576"})
    for settings, expected in (
        ("ledger.retention.ms=172800000\n", "172800000"),
        ("ledger.retention.ms=172800000\n", "172800000"),
        ("ledger.retention.ms=-1\n", "-1"),
        ("", str(FOURTEEN_DAYS)),
    ):
        flow = site.flow(settings)
        create_topics(internal_topics(flow), target)  # what a start does first: it leaves a topic that is there alone
        keep_internal_settings(flow, target)
        # What somebody has set beside it stays. A broker knows of a change a little later than it is confirmed.
        settings_now = {"cleanup.policy": "delete", "retention.ms": expected, "segment.bytes": "1048576"}
        await_settings(target, topic, settings_now)


@pytest.mark.kafka
def test_internal_topics_of_an_earlier_version_get_small_segments(site: Site, target: Admin) -> None:
    """And the topic of positions that MirrorMaker 2 has made: a start reads all of its newest segment."""
    flow = site.flow()
    target.create_topics(
        [
            NewTopic(ledger_topic(flow), 1, 1, {"cleanup.policy": "delete", "retention.ms": str(FOURTEEN_DAYS)}),
            NewTopic(offsets_topic(flow), 1, 1, {"cleanup.policy": "compact"}),
        ]
    )
    target.wait_for_topics({ledger_topic(flow): 1, offsets_topic(flow): 1})
    keep_internal_settings(flow, target)
    segments = {"segment.bytes": str(LEDGER_SEGMENT)}
    await_settings(
        target, ledger_topic(flow), {"cleanup.policy": "delete", "retention.ms": str(FOURTEEN_DAYS), **segments}
    )
    await_settings(target, offsets_topic(flow), {"cleanup.policy": "compact", "segment.bytes": str(SMALL_SEGMENT)})
