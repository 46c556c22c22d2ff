"""What the source has lost is shown wherever people look: log, status, REST, metrics and alerts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import kafka
import pytest
from kafka import KafkaAdminClient

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.model import TopicPartition
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.checker.stock_reader import read_committed
from tests.control.metrics.scrape import Scrape
from tests.deploy.prometheus import Prometheus, running_prometheus
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_PATIENCE = 120
_MIRRORED = 10  # records of each partition before anything is lost
_KINDS = ("retention", "recreated")
_DATA_LOSS = "HeliographDataLoss"


@dataclass(frozen=True)
class Loss:
    """One loss, as it must be told: up to and without `end`, which nobody knows of a topic that is gone."""

    kind: str
    source: TopicPartition
    begin: int
    end: int
    reason: str
    resume_at: int

    @property
    def text(self) -> str:
        """One line for people."""
        return f"{self.source}: {self.kind}: {self.reason}"

    @property
    def advice(self) -> str:
        """Why the partition waits."""
        return f"{self.reason}; on.data.loss = continue goes on at offset {self.resume_at}"

    @property
    def event(self) -> dict[str, Any]:
        """As the API tells it, but for the time."""
        return {
            "kind": self.kind, "topic": self.source.topic, "partition": self.source.partition,
            "from_offset": self.begin, "to_offset": self.end, "reason": self.reason,
        }  # fmt: skip


@dataclass(frozen=True)
class Flow:
    """A flow of the mirror; both mirror the same topics."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """As the file has it."""
        return f"{self.source}->{self.target}"

    @property
    def path(self) -> str:
        """Where our API speaks of it."""
        return f"/api/v1/flows/{quote(self.name, safe='')}"

    @property
    def connector(self) -> str:
        """Where Kafka Connect's API speaks of it."""
        return f"/connectors/{quote(self.name, safe='')}.MirrorSourceConnector"


@dataclass(frozen=True)
class Stage:
    """Two flows, of which one stops at a loss and one goes on, both told of all losses by now."""

    file: Path
    mirror: MirrorProcess
    client: httpx.Client
    prometheus: Prometheus
    stopping: Flow
    going_on: Flow
    losses: tuple[Loss, ...]
    clusters: tuple[EmbeddedCluster, EmbeddedCluster]

    @property
    def flows(self) -> tuple[Flow, Flow]:
        """Both."""
        return self.stopping, self.going_on

    def get(self, path: str) -> Any:
        """What REST says."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def change_state(self, state: str) -> None:
        """Pause both flows, which comes back when their lanes have ended; or let them go on."""
        for flow in self.flows:
            self.client.put(f"{flow.path}/state", json={"state": state}).raise_for_status()

    def scrape(self) -> Scrape:
        """What is told to Prometheus at present."""
        return Scrape.of(self.client.get("/metrics").text)

    def alerts(self, name: str, flow: Flow) -> list[dict[str, Any]]:
        """What the rules of that name say of a flow."""
        found = [alert for rule in self.prometheus.rules() if rule["name"] == name for alert in rule["alerts"]]
        labels = {"source": flow.source, "target": flow.target}
        return [alert for alert in found if labels.items() <= alert["labels"].items()]

    def feed(self, where: TopicPartition, first: int, count: int) -> None:
        """Append records with numbers from the first one on."""
        raw.append(self.clusters[0].bootstrap_servers, where, [raw.batch_of(numbered(count, first))])

    def copied(self, flow: Flow, where: TopicPartition) -> list[int]:
        """The numbers of the records on the target; none while the topic is not there."""
        copy = TopicPartition(f"{flow.source}.{where.topic}", where.partition)
        with raw.network(self.clusters[1].bootstrap_servers) as (_, network):
            if network.look_up([copy.topic]):
                return []
        records = read_committed(self.clusters[1].bootstrap_servers, copy)
        return [int(dict(item.content.headers)["n"] or b"") for item in records]

    def await_copies(self, flow: Flow, where: TopicPartition, numbers: list[int]) -> None:
        """Wait until exactly these have arrived."""
        wait_until(lambda: self.copied(flow, where) == numbers, f"{where} of {flow.name} on the target", _PATIENCE, 0.2)


@pytest.fixture(scope="module")
def stage(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    """A mirror that was paused while retention overtook it, and while a topic was replaced by another one."""
    folder = tmp_path_factory.mktemp("losses")
    shrunk = TopicPartition(create_topic(primary.bootstrap_servers, fresh_name("shrunk"), 2), 1)
    renewed = TopicPartition(create_topic(primary.bootstrap_servers, fresh_name("renewed")), 0)
    well = TopicPartition(shrunk.topic, 0)
    with _running(folder, (primary, backup), shrunk, renewed) as stage:
        for where in (well, shrunk, renewed):
            stage.feed(where, 0, _MIRRORED)
        for flow in stage.flows:
            for where in (well, shrunk, renewed):
                stage.await_copies(flow, where, list(range(_MIRRORED)))
        _await_zeros(stage)
        stage.change_state("PAUSED")
        stage.feed(shrunk, 10, 10)
        with closing(KafkaAdminClient(bootstrap_servers=primary.bootstrap_servers)) as admin:
            admin.delete_records({kafka.TopicPartition(*shrunk): 15})
            admin.delete_topics([renewed.topic])
        with raw.network(primary.bootstrap_servers) as (_, network):
            wait_until(lambda: bool(network.look_up([renewed.topic])), "the topic to be gone")
        create_topic(primary.bootstrap_servers, renewed.topic)
        stage.feed(renewed, 100, 3)
        stage.change_state("RUNNING")
        stage.feed(well, 10, 5)
        for flow in stage.flows:
            stage.await_copies(flow, well, list(range(15)))  # what is well does not wait for what is not
            _await_losses(stage, flow)
        yield stage


@contextmanager
def _running(
    folder: Path, clusters: tuple[EmbeddedCluster, EmbeddedCluster], shrunk: TopicPartition, renewed: TopicPartition
) -> Iterator[Stage]:
    """`heliograph run` with both flows, and a Prometheus with our rules."""
    stopping, going_on = (Flow(fresh_name(name), fresh_name("copy")) for name in ("stopping", "going"))
    losses = (
        Loss(
            "retention", shrunk, 10, 15, "offsets 10 to 14 were deleted on the source before they were mirrored", 15
        ),
        Loss(
            "recreated", renewed, 10, -1,
            "the topic was deleted and created again; what the old one had from offset 10 on is lost", 0,
        ),
    )  # fmt: skip
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    options = {
        "topics": f"{shrunk.topic}, {renewed.topic}",
        f"{going_on.name}.on.data.loss": "continue",
        "heartbeats.replication.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "tasks.max": "1",
        "listeners": f"http://{address}",
        "offset-syncs.topic.replication.factor": "1",
        "config.storage.replication.factor": "1",
    }
    source, target = clusters
    file = folder / "mm2.properties"
    aliases = {
        alias: at for flow in (stopping, going_on) for alias, at in ((flow.source, source), (flow.target, target))
    }
    write_settings(file, aliases, [stopping.name, going_on.name], options)
    mirror = MirrorProcess(file, folder / "mirror.log")
    try:
        with (
            httpx.Client(base_url=f"http://{address}", timeout=60, trust_env=False) as client,
            running_prometheus(address, folder) as prometheus,
        ):
            yield Stage(file, mirror, client, prometheus, stopping, going_on, losses, clusters)
            assert mirror.stop() == 0
    finally:
        mirror.kill()


def _await_zeros(stage: Stage) -> None:
    """Wait until Prometheus knows that nothing is lost, as it does of a mirror that has run for a while."""
    for flow in stage.flows:
        for kind in _KINDS:
            series = f'heliograph_events_total{{source="{flow.source}",target="{flow.target}",kind="{kind}"}}'
            stage.prometheus.await_value(series, 0)
        assert stage.alerts(_DATA_LOSS, flow) == []


def _await_losses(stage: Stage, flow: Flow) -> None:
    wait_until(lambda: len(_told(stage, flow)) == len(stage.losses), "all losses told", _PATIENCE, 0.2)


def _told(stage: Stage, flow: Flow) -> list[dict[str, Any]]:
    """The losses among the events of a flow, without their times."""
    found = [event for event in stage.get(f"{flow.path}/events") if event["kind"] in _KINDS]
    return [{name: value for name, value in event.items() if name != "at_ms"} for event in found]


def _status(stage: Stage, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What `heliograph status` prints."""
    with pytest.raises(SystemExit) as ended:
        main(["status", str(stage.file), *options])
    assert not ended.value.code
    return capsys.readouterr().out


def _in_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: str(event["kind"]))


def test_the_log_of_run_tells_each_loss_once_as_an_error(stage: Stage) -> None:
    lines = stage.mirror.log_text().splitlines()
    for flow in stage.flows:
        for loss in stage.losses:
            [line] = [line for line in lines if line.endswith(f"{flow.name}: {loss.text}")]
            assert " ERROR " in line


def test_the_log_of_run_tells_what_waits_and_how_it_goes_on(stage: Stage) -> None:
    text = stage.mirror.log_text()
    for loss in stage.losses:
        assert f"{stage.stopping.name}: {loss.source}: set-aside: {loss.advice}" in text
    assert f"{stage.going_on.name}: {stage.losses[0].source}: set-aside" not in text


def test_status_shows_people_every_loss(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _status(stage, capsys).splitlines()
    for loss in stage.losses:
        for flow in stage.flows:
            assert f"{flow.name}: {loss.text}" in lines
        assert f"{stage.stopping.name}: {loss.source} is set aside: {loss.advice}" in lines
        assert not any(f"{stage.going_on.name}: {loss.source} is set aside" in line for line in lines)


def test_status_tells_machines_every_loss(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    found = {flow["flow"]: flow for flow in json.loads(_status(stage, capsys, "-o", "json"))}
    for flow in stage.flows:
        told = [event for event in found[flow.name]["events"] if any(f": {kind}: " in event for kind in _KINDS)]
        assert sorted(told) == sorted(loss.text for loss in stage.losses)
    assert found[stage.going_on.name]["set_aside"] == []
    key = lambda item: str(item["topic"])  # noqa: E731
    assert sorted(found[stage.stopping.name]["set_aside"], key=key) == sorted(
        [
            {"topic": loss.source.topic, "partition": loss.source.partition, "reason": loss.advice}
            for loss in stage.losses
        ],
        key=key,
    )


def test_the_api_tells_every_loss_with_its_range(stage: Stage) -> None:
    for flow in stage.flows:
        assert _in_order(_told(stage, flow)) == _in_order([loss.event for loss in stage.losses])


def test_the_api_tells_which_partitions_wait_and_why(stage: Stage) -> None:
    found = {
        TopicPartition(row["topic"], row["partition"]): row["set_aside"]
        for row in stage.get(f"{stage.stopping.path}/partitions")
    }
    assert {where: why for where, why in found.items() if why} == {loss.source: loss.advice for loss in stage.losses}
    detail = stage.get(stage.stopping.path)
    assert (detail["health"], detail["is_good"], detail["set_aside"]) == ("degraded", False, len(stage.losses))
    assert not any(row["set_aside"] for row in stage.get(f"{stage.going_on.path}/partitions"))
    wait_until(lambda: stage.get(stage.going_on.path)["is_good"], "a flow that is well again", _PATIENCE, 0.2)


def test_tasks_of_the_connector_fail_and_say_why(stage: Stage) -> None:
    status = stage.get(f"{stage.stopping.connector}/status")
    assert status["connector"]["state"] == "RUNNING"
    [task] = status["tasks"]
    assert task["state"] == "FAILED"
    assert sorted(task["trace"].splitlines()) == sorted(f"{loss.source}: {loss.advice}" for loss in stage.losses)
    [well] = stage.get(f"{stage.going_on.connector}/status")["tasks"]
    assert (well["state"], "trace" in well) == ("RUNNING", False)


def test_metrics_count_every_loss_by_its_cause(stage: Stage) -> None:
    """Soon: the page of metrics is put together every now and then, and not for each loss."""
    for flow in stage.flows:
        labels = {"source": flow.source, "target": flow.target}
        wait_until(lambda labels=labels: any(_counted(stage, labels).values()), "metrics that know of losses", 10, 0.2)
        assert _counted(stage, labels) == {"retention": 1, "recreated": 1, "truncation": 0}
        aside = len(stage.losses) if flow is stage.stopping else 0
        assert stage.scrape().value("heliograph_set_aside_partitions", **labels) == aside


def _counted(stage: Stage, labels: dict[str, str]) -> dict[str, float]:
    page = stage.scrape()
    return {kind: page.value("heliograph_events_total", **labels, kind=kind) for kind in (*_KINDS, "truncation")}


def test_the_alert_that_is_meant_for_it_fires_for_every_flow_and_cause(stage: Stage) -> None:
    for flow in stage.flows:

        def fires(flow: Flow = flow) -> bool:
            return {alert["labels"]["kind"] for alert in stage.alerts(_DATA_LOSS, flow)} == set(_KINDS)

        wait_until(fires, f"{_DATA_LOSS} of {flow.name}", 30, 0.2)
        for alert in stage.alerts(_DATA_LOSS, flow):
            assert (alert["state"], alert["labels"]["severity"]) == ("firing", "critical")
            assert alert["annotations"]["summary"] == f"{flow.name}: {alert['labels']['kind']}"
            assert "heliograph status" in alert["annotations"]["runbook"]
    [waiting] = stage.alerts("HeliographPartitionsSetAside", stage.stopping)
    assert float(waiting["value"]) == len(stage.losses)
    assert stage.alerts("HeliographPartitionsSetAside", stage.going_on) == []


def test_who_goes_on_has_all_that_is_left(stage: Stage) -> None:
    shrunk, renewed = (loss.source for loss in stage.losses)
    stage.await_copies(stage.going_on, shrunk, [*range(10), *range(15, 20)])
    stage.await_copies(stage.going_on, renewed, [*range(10), *range(100, 103)])
    for where in (shrunk, renewed):
        assert stage.copied(stage.stopping, where) == list(range(10))


def test_what_waits_goes_on_without_a_restart_when_it_is_told_to(stage: Stage) -> None:
    """Last: from here on nothing waits any more. The change is the one that the page about operations shows."""
    answer = stage.client.patch(f"{stage.stopping.connector}/config", json={"on.data.loss": "continue"})
    assert answer.status_code == 200, answer.text
    shrunk, renewed = (loss.source for loss in stage.losses)
    stage.await_copies(stage.stopping, shrunk, [*range(10), *range(15, 20)])
    stage.await_copies(stage.stopping, renewed, [*range(10), *range(100, 103)])
    wait_until(lambda: stage.get(stage.stopping.path)["set_aside"] == 0, "no partition that waits", _PATIENCE, 0.2)
    [task] = stage.get(f"{stage.stopping.connector}/status")["tasks"]
    assert task["state"] == "RUNNING"
    labels = {"source": stage.stopping.source, "target": stage.stopping.target}
    wait_until(
        lambda: stage.scrape().value("heliograph_set_aside_partitions", **labels) == 0,
        "a gauge at zero",
        _PATIENCE,
        0.2,
    )
