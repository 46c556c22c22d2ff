"""A running mirror does as it is told: pauses, goes on, takes new settings, and remembers all that."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.chores import ChoreReport
from heliograph.control.connector import Connector, RunState
from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.running_flow import FlowHealth
from heliograph.control.running_mirror import RunningMirror
from heliograph.control.stored_state import StateStore
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import ConfigError
from heliograph.model import EventKind, TopicPartition
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, ends, write_settings
from tests.control.told_mirror import TARGET, ToldMirror, Way
from tests.recovery.handmade_mirror import in_batches, some_records
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


class Told(ToldMirror):
    """A way for each test."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> None:
        self.paused, self.changed, self.renewed, self.watched = (
            Way(source, target, prefix) for prefix in ("paused", "changed", "renewed", "watched")
        )
        options = {
            "emit.heartbeats.enabled": "true",
            "emit.heartbeats.interval.seconds": "3",
            f"{self.watched.name}.verify.continuous.enabled": "true",
            f"{self.watched.name}.verify.continuous.interval.seconds": "1",
        }
        super().__init__([self.paused, self.changed, self.renewed, self.watched], folder, options)
        self.interrupt = signal.getsignal(signal.SIGINT)

    def change_state(self, way: Way, state: RunState) -> None:
        """Tell a flow to hold still, or to go on."""
        self.mirror.change_state(self.flow(way), Connector.SOURCE, state)

    def change_settings(self) -> dict[str, str | None]:
        """Let the second topic of a flow be mirrored too, by two lanes; what was changed."""
        way = self.changed
        both = {"topics": f"{way.topic}, {way.other}", "tasks.max": "2", "emit.heartbeats.interval.seconds": None}
        self.mirror.change_settings(self.flow(way), both, by="a test")
        return both

    def await_two_lanes(self) -> None:
        """Wait until the changed flow has as many."""
        wait_until(lambda: len(self.flow(self.changed).lanes()) == 2, "two lanes", PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def told(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A mirror that runs."""
    told = Told(primary, backup, tmp_path_factory.mktemp("told"))
    try:
        told.start()
        yield told
    finally:
        told.stop()


def test_ctrl_c_still_belongs_to_whoever_had_it_before_the_start(told: Told) -> None:
    assert signal.getsignal(signal.SIGINT) is told.interrupt


def test_a_paused_flow_moves_nothing_and_loses_nothing(told: Told) -> None:
    way = told.paused
    flow = told.flow(way)

    def tell(state: RunState) -> None:
        told.change_state(way, state)

    with way.load() as load:
        way.await_growth()
        told.expect_quick_rest(way, lambda: tell(RunState.PAUSED), lambda: tell(RunState.RUNNING))
        way.expect_standstill(load)
        assert flow.health() is FlowHealth.PAUSED
        before = sum(lag.records for lag in flow.lags().values())
        wait_until(lambda: sum(lag.records for lag in flow.lags().values()) > before, "a growing lag")
        tell(RunState.RUNNING)
        way.await_growth()
        told.expect_quick_rest(way, lambda: tell(RunState.STOPPED), lambda: tell(RunState.RUNNING))
        way.expect_standstill(load)
        told.expect_quick_resumption(way, lambda: tell(RunState.RUNNING), lambda: tell(RunState.STOPPED))
        load.stop()
        told.expect_equal(way, way.topic, load.acknowledged)
    wait_until(lambda: flow.health() is FlowHealth.UP_TO_DATE, "a flow that is up to date", PATIENCE_SECONDS)


def test_new_settings_count_at_once(told: Told) -> None:
    way = told.changed
    with way.load() as first, way.load(way.other) as second:
        way.await_growth()
        assert not ends(way.target, way.copy(way.other))
        told.change_settings()
        wait_until(lambda: bool(ends(way.target, way.copy(way.other))), "the second topic", RECOVERY_SECONDS)
        told.await_two_lanes()
        assert _heartbeats(told, way).seconds == 1  # the default: what the file says is taken back
        first.stop()
        second.stop()
    told.expect_equal(way, way.topic, first.acknowledged)
    told.expect_equal(way, way.other, second.acknowledged)


def _heartbeats(told: Told, way: Way) -> ChoreReport:
    return next(report for report in told.flow(way).reports() if report.name == "heartbeats")


def test_settings_that_cannot_be_are_refused_all_at_once_and_change_nothing(told: Told) -> None:
    flow = told.flow(told.renewed)
    wrong = {
        "replication.policy.class": "os.system",
        "source.cluster.alias": "other",
        "source.consumer.ssl.truststore.location": "/etc/passwd",
        "topics": "${file:/etc/passwd:x}",
        "no.such.key": "1",
    }
    with pytest.raises(ConfigError) as caught:
        told.mirror.change_settings(flow, wrong, by="a test")
    assert {problem.key.removeprefix(f"{flow.name}.") for problem in caught.value.problems} == set(wrong)
    with pytest.raises(ConfigError, match=r"tasks\.max"):
        told.mirror.change_settings(flow, {"tasks.max": "many"}, by="a test")
    assert told.mirror.changes(flow) == {}
    assert StateStore(flow.config).read().changes == {}


def test_a_restarted_flow_goes_on_where_it_was(told: Told) -> None:
    way = told.renewed
    driver = told.driver(way)
    with way.load() as load:
        way.await_growth()
        before = driver.owner
        told.mirror.restart(told.flow(way), Connector.SOURCE)
        wait_until(
            lambda: driver.owner != before and driver.in_charge.is_set(), "another take-over of it", PATIENCE_SECONDS
        )
        way.await_growth()
        told.mirror.restart(told.flow(way), Connector.CHECKPOINT)
        load.stop()
        told.expect_equal(way, way.topic, load.acknowledged)


def test_it_verifies_what_it_mirrors_and_notices_a_stranger(told: Told) -> None:
    way = told.watched
    source, target = TopicPartition(way.topic, 0), TopicPartition(way.copy(way.topic), 0)
    flow, metrics = told.flow(way), MirrorMetrics(told.mirror)
    verified = flow.meter.verified
    raw.append(way.source.bootstrap_servers, source, in_batches(some_records(100), 10))
    wait_until(lambda: verified.records >= 100, "the records to be verified", PATIENCE_SECONDS)
    assert verified.mismatches == 0
    raw.append(way.target.bootstrap_servers, target, in_batches(some_records(1), 1))
    raw.append(way.source.bootstrap_servers, source, in_batches(some_records(100), 10))
    wait_until(lambda: verified.mismatches > 0, "the stranger to be noticed", PATIENCE_SECONDS)
    wait_until(lambda: any(event.kind is EventKind.MISMATCH for event in flow.events()), "the event")
    page = metrics.page().text.decode()
    labels = f'{{source="{way.alias}",target="{TARGET}"}}'
    assert f"heliograph_verification_mismatches_total{labels} 1" in page
    assert f"heliograph_verified_lag_seconds{labels} 0" in page


def test_all_that_it_was_told_counts_after_a_restart(told: Told) -> None:
    paused, changed = told.paused, told.changed
    with paused.load() as still, changed.load() as first, changed.load(changed.other) as second:
        paused.await_growth()
        told.change_state(paused, RunState.PAUSED)
        told.expect_rest(paused)
        rest = paused.expect_standstill(still)
        both = told.change_settings()
        told.await_two_lanes()

        told.restart()

        assert told.flow(paused).states[Connector.SOURCE] is RunState.PAUSED
        assert told.flow(paused).health() is FlowHealth.PAUSED
        assert told.mirror.changes(told.flow(changed)) == both
        assert changed.other in told.flow(changed).config.setting("topics").text
        told.await_two_lanes()
        assert paused.expect_standstill(still) == rest
        told.change_state(paused, RunState.RUNNING)
        paused.await_growth()
        for load in (still, first, second):
            load.stop()
    told.expect_equal(paused, paused.topic, still.acknowledged)
    told.expect_equal(changed, changed.topic, first.acknowledged)
    told.expect_equal(changed, changed.other, second.acknowledged)


def test_a_file_whose_flows_are_all_off_still_writes_heartbeats(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    first, second = fresh_name("off"), fresh_name("off")
    flows = [f"{alias}->{TARGET}" for alias in (first, second)]
    options = {
        **{f"{name}.enabled": "false" for name in flows},
        "emit.heartbeats.enabled": "true",
        "emit.heartbeats.interval.seconds": "1",
        "heartbeats.topic.replication.factor": "1",
        "config.storage.replication.factor": "1",
    }
    write_settings(tmp_path / "mm2.properties", {first: primary, second: primary, TARGET: backup}, flows, options)
    mirror = RunningMirror(load(tmp_path / "mm2.properties"))
    mirror.start()
    try:
        paused, other = (mirror.flow(name) for name in flows)
        for flow in (paused, other):
            assert flow.health() is FlowHealth.HEARTBEATS_ONLY
            wait_until(lambda flow=flow: any(report.last_success_ms for report in flow.reports()), "a heartbeat")  # type: ignore[misc]
        assert mirror.is_running
        assert mirror.is_ready
        mirror.change_state(paused, Connector.HEARTBEAT, RunState.PAUSED)
        [report], [beat] = paused.reports(), other.reports()
        _await_runs(beat, 2)  # whatever was under way is over by then
        runs = report.runs
        _await_runs(beat, 3)
        assert report.runs == runs
    finally:
        mirror.stop()


def _await_runs(beat: ChoreReport, more: int) -> None:
    before = beat.runs
    wait_until(lambda: beat.runs >= before + more, f"{more} more heartbeats")
