"""A rehearsal on clusters that others use: everything is measured, nothing is touched, nothing is left behind."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient

from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import StepFailed
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Committed, Groups
from heliograph.model import TopicPartition
from heliograph.recovery.drill import scene as drill_scene
from heliograph.recovery.drill.drill import Drill
from heliograph.recovery.drill.names import DrillNames
from heliograph.recovery.drill.scene import Rehearsal
from heliograph.recovery.drill.story import DrillOptions
from heliograph.recovery.operation import StepState
from tests.recovery.drill_witness import Case, Witness
from tests.recovery.handmade_mirror import in_batches, some_records
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_GROUPS = 5


class Bystander:
    """A topic and a group of production on both clusters."""

    def __init__(self, clusters: tuple[EmbeddedCluster, EmbeddedCluster]) -> None:
        self._clusters = clusters
        self.topic = fresh_name("bystander")
        for cluster in clusters:
            create_topic(cluster.bootstrap_servers, self.topic)
            raw.append(cluster.bootstrap_servers, TopicPartition(self.topic, 0), in_batches(some_records(50), 10))
            with Groups(_access(cluster)) as groups:
                groups.commit({self.topic: {TopicPartition(self.topic, 0): Committed(20, "noted")}})

    def see(self) -> list[dict[str, Any]]:
        """On each cluster."""
        return [self._see(cluster.bootstrap_servers) for cluster in self._clusters]

    def _see(self, servers: str) -> dict[str, Any]:
        """The bytes of the log, commits and settings, and which topics and groups there are at all.

        Topics of Kafka itself do not count: a cluster gets one with the first transaction that it ever sees.
        """
        with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
            return {
                "log": raw.fetch_batches(servers, TopicPartition(self.topic, 0)),
                "commits": admin.list_group_offsets([self.topic]),
                "topic": admin.describe_topics([self.topic]),
                "topics": {name for name in admin.list_topics() if not name.startswith("__")},
                "groups": {item["group_id"] for item in admin.list_groups()},
            }


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))


@pytest.fixture
def file(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Path:
    """Production that wants every topic."""
    a, b = fresh_name("a"), fresh_name("b")
    path = tmp_path / "mm2.properties"
    path.write_text(
        f"clusters = {a}, {b}\n{a}->{b}.enabled = true\n"
        f"{a}.bootstrap.servers = {primary.bootstrap_servers}\n{b}.bootstrap.servers = {backup.bootstrap_servers}\n"
        "replication.factor = 1\noffset.storage.replication.factor = 1\nconfig.storage.replication.factor = 1\n"
        "ledger.topic.replication.factor = 1\ncheckpoints.topic.replication.factor = 1\n"
        "offset-syncs.topic.replication.factor = 1\n"
    )
    return path


def _rehearsal(file: Path, folder: Path) -> Rehearsal:
    config = load(file)
    names = DrillNames.fresh(*config.clusters, _GROUPS)
    (folder / "drill").mkdir()
    return Rehearsal(config, names, folder / "drill")


def test_a_rehearsal_passes_and_leaves_nothing_behind(
    primary: EmbeddedCluster, backup: EmbeddedCluster, file: Path, tmp_path: Path
) -> None:
    bystander = Bystander((primary, backup))
    before = bystander.see()
    scene = _rehearsal(file, tmp_path)
    names = scene.drill.names
    drill = Drill(scene, DrillOptions(seconds=5, rate=400, reports=tmp_path))
    witness = Witness(primary, backup, names.topics, names.mark)
    drill.after_step = witness.see

    report = drill.run()

    assert report.passed, report.faults
    assert bystander.see() == before
    assert report.cleaned
    assert report.failover is not None
    assert "last seen" in next(step.text for step in report.failover.steps if step.name == "survey")
    Case.of(witness, drill, scene.drill.copies).judge()


def test_what_fails_in_the_middle_is_cleaned_up_and_told(
    primary: EmbeddedCluster, backup: EmbeddedCluster, file: Path, tmp_path: Path
) -> None:
    bystander = Bystander((primary, backup))
    before = bystander.see()
    drill = Drill(_rehearsal(file, tmp_path), DrillOptions(reports=tmp_path))

    def fail(step: str) -> None:
        raise StepFailed(f"enough after {step}")

    drill.after_step = fail
    report = drill.run()
    assert not report.passed
    assert report.faults == ["stopped: enough after prepare"]
    assert [step.state for step in report.steps[:2]] == [StepState.DONE, StepState.WAITING]
    assert report.cleaned
    assert bystander.see() == before


def test_a_topic_that_stays_is_a_fault(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = _rehearsal(file, tmp_path)
    drill = Drill(scene, DrillOptions(reports=tmp_path))
    real_delete, kept = Admin.delete_topics, scene.drill.names.topics[0]
    monkeypatch.setattr(drill_scene, "_PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(Admin, "delete_topics", lambda admin, names: real_delete(admin, set(names) - {kept}))

    def fail(_: str) -> None:
        raise KeyboardInterrupt

    drill.after_step = fail
    report = drill.run()
    assert report.faults[0] == "stopped: interrupted"
    assert any(f"left something behind: topic {kept}" in fault for fault in report.faults)
    monkeypatch.undo()
    assert scene.clean_up().left == []


def test_production_that_would_carry_canaries_on_stops_the_drill_before_it_begins(
    primary: EmbeddedCluster, backup: EmbeddedCluster, file: Path, tmp_path: Path
) -> None:
    file.write_text(f"{file.read_text()}topics.exclude = nothing\n")
    bystander = Bystander((primary, backup))
    before = bystander.see()
    report = Drill(_rehearsal(file, tmp_path), DrillOptions(reports=tmp_path)).run()
    assert "would mirror the drill's own topics: add" in report.faults[0]
    assert report.steps[0].state is StepState.FAILED
    assert bystander.see() == before
