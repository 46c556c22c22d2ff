"""A running mirror does as it is told: pauses, goes on, takes new settings, and remembers all that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.connector import Connector, RunState
from heliograph.control.running_flow import FlowHealth
from heliograph.control.running_mirror import RunningMirror
from heliograph.control.stored_state import StateStore
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import ConfigError
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.stage import admin_of, await_growth, copies, ends, expect_equal, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_PARTITIONS = 2
_SOON = 2.0  # seconds within which a pause or its end must act


class Told:
    """Two topics, a file that mirrors the first, and mirrors that run it."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> None:
        self.source, self.target = source, target
        self.alias = fresh_name("told")
        self.topic, self.other = fresh_name("first"), fresh_name("second")
        self.file, self.log = folder / "mm2.properties", folder / "log"
        self.log.touch()
        self.name = f"{self.alias}->backup"
        options = {
            f"{self.name}.topics": self.topic,
            "tasks.max": "1",
            "heartbeats.replication.enabled": "false",  # other tests may have left some on the clusters
            "emit.heartbeats.enabled": "true",
            "emit.heartbeats.interval.seconds": "3",
            "heartbeats.topic.replication.factor": "1",
            "config.storage.replication.factor": "1",
            "checkpoints.topic.replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
        }
        write_settings(self.file, {self.alias: source, "backup": target}, [self.name], options)
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(name, _PARTITIONS, 1) for name in (self.topic, self.other)])

    @contextmanager
    def running(self) -> Iterator[RunningMirror]:
        """A mirror of the file."""
        mirror = RunningMirror(load(self.file))
        mirror.start()
        try:
            yield mirror
        finally:
            mirror.stop()

    def load(self, topic: str) -> Load:
        """Records from now on."""
        return Load(self.source.bootstrap_servers, topic, _PARTITIONS, per_second=200)

    def copy(self, topic: str) -> str:
        """What the topic is called on the target."""
        return f"{self.alias}.{topic}"

    def expect_equal(self, topic: str, at_least: int) -> None:
        """Both sides hold the same records."""
        pairs = copies(topic, self.copy(topic), _PARTITIONS)
        expect_equal(self.source, self.target, pairs, at_least, self.log)

    def await_rest(self) -> dict[TopicPartition, int]:
        """Where the copy ends once it has stopped moving, which must be soon; it must not move for a while then."""
        began = time.monotonic()
        before = ends(self.target, self.copy(self.topic))
        while time.monotonic() - began < _SOON:
            time.sleep(0.2)
            now = ends(self.target, self.copy(self.topic))
            before, moved = now, now != before
        assert not moved
        time.sleep(1)
        assert ends(self.target, self.copy(self.topic)) == before
        return before


@pytest.fixture
def told(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Told:
    """Two topics and a file."""
    return Told(primary, backup, tmp_path)


def test_a_paused_flow_moves_nothing_and_loses_nothing_and_stays_paused_over_a_restart(told: Told) -> None:
    with told.load(told.topic) as load:
        with told.running() as mirror:
            flow = mirror.flow(told.name)
            await_growth(told.target, told.copy(told.topic))
            mirror.change_state(flow, Connector.SOURCE, RunState.PAUSED)
            rest = told.await_rest()
            assert flow.health() is FlowHealth.PAUSED
            before = sum(lag.records for lag in flow.lags().values())
            wait_until(lambda: sum(lag.records for lag in flow.lags().values()) > before, "a growing lag", 20)
        with told.running() as mirror:
            flow = mirror.flow(told.name)
            wait_until(lambda: mirror.is_ready, "a flow that is ours", 60)
            assert flow.states[Connector.SOURCE] is RunState.PAUSED
            assert ends(told.target, told.copy(told.topic)) == rest
            mirror.change_state(flow, Connector.SOURCE, RunState.RUNNING)
            await_growth(told.target, told.copy(told.topic))
            mirror.change_state(flow, Connector.SOURCE, RunState.STOPPED)
            rest = told.await_rest()
            began = time.monotonic()
            mirror.change_state(flow, Connector.SOURCE, RunState.RUNNING)
            wait_until(lambda: ends(told.target, told.copy(told.topic)) != rest, "records again", 30)
            assert time.monotonic() - began < _SOON
            load.stop()
            told.expect_equal(told.topic, load.acknowledged)
            wait_until(lambda: flow.health() is FlowHealth.UP_TO_DATE, "a flow that is up to date", 30)


def test_new_settings_count_at_once_and_after_a_restart(told: Told) -> None:
    both = {"topics": f"{told.topic}, {told.other}", "tasks.max": "2", "emit.heartbeats.interval.seconds": None}
    with told.load(told.topic) as first, told.load(told.other) as second:
        with told.running() as mirror:
            flow = mirror.flow(told.name)
            await_growth(told.target, told.copy(told.topic))
            assert not ends(told.target, told.copy(told.other))
            began = time.monotonic()
            mirror.change_settings(flow, both, by="a test")
            wait_until(lambda: bool(ends(told.target, told.copy(told.other))), "the second topic", 30)
            assert time.monotonic() - began < 10
            wait_until(lambda: len(flow.lanes()) == 2, "two lanes", 20)
            heartbeats = next(report for report in flow.reports() if report.name == "heartbeats")
            assert heartbeats.seconds == 1  # the default: what the file says is taken back
        with told.running() as mirror:
            flow = mirror.flow(told.name)
            wait_until(lambda: len(flow.lanes()) == 2, "two lanes", 60)
            assert mirror.changes(flow) == both
            assert told.other in flow.config.setting("topics").text
            first.stop()
            second.stop()
            told.expect_equal(told.topic, first.acknowledged)
            told.expect_equal(told.other, second.acknowledged)


def test_settings_that_cannot_be_are_refused_all_at_once_and_change_nothing(told: Told) -> None:
    mirror = RunningMirror(load(told.file))
    flow = mirror.flow(told.name)
    wrong = {
        "replication.policy.class": "os.system",
        "source.cluster.alias": "other",
        "source.consumer.ssl.truststore.location": "/etc/passwd",
        "topics": "${file:/etc/passwd:x}",
        "no.such.key": "1",
    }
    with pytest.raises(ConfigError) as caught:
        mirror.change_settings(flow, wrong, by="a test")
    assert {problem.key.removeprefix(f"{told.name}.") for problem in caught.value.problems} == set(wrong)
    with pytest.raises(ConfigError, match=r"tasks\.max"):
        mirror.change_settings(flow, {"tasks.max": "many"}, by="a test")
    assert mirror.changes(flow) == {}
    assert StateStore(flow.config).read().changes == {}


def test_a_restarted_flow_goes_on_where_it_was(told: Told) -> None:
    with told.load(told.topic) as load, told.running() as mirror:
        flow = mirror.flow(told.name)
        await_growth(told.target, told.copy(told.topic))
        mirror.restart(flow, Connector.SOURCE)
        wait_until(lambda: not mirror.is_ready, "a flow that is given up", 10, 0.001)
        wait_until(lambda: mirror.is_ready, "a flow that is ours again", 30)
        await_growth(told.target, told.copy(told.topic))
        mirror.restart(flow, Connector.CHECKPOINT)
        load.stop()
        told.expect_equal(told.topic, load.acknowledged)


def test_a_file_whose_flows_are_all_off_still_writes_heartbeats(told: Told) -> None:
    text = told.file.read_text().replace("seconds = 3", "seconds = 1")
    text = text.replace(f"{told.name}.enabled = true", f"{told.name}.enabled = false")
    told.file.write_text(text)
    with told.running() as mirror:
        flow = mirror.flow(told.name)
        assert flow.health() is FlowHealth.HEARTBEATS_ONLY
        wait_until(lambda: any(report.last_success_ms for report in flow.reports()), "a heartbeat", 20)
        assert mirror.is_running
        assert mirror.is_ready
        mirror.change_state(flow, Connector.HEARTBEAT, RunState.PAUSED)
        [report] = flow.reports()
        time.sleep(1.5)
        runs = report.runs
        time.sleep(1.5)
        assert report.runs == runs
