"""Signs of other mirrors on real clusters, for flows that keep topic names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.config.problem import Severity
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition
from heliograph.sync.fitness import Finding
from heliograph.sync.foreign_mirrors import examine_foreign_mirrors
from tests.chaos.stage import admin_of
from tests.flows.rounds import Rounds, values
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

IDENTITY = {"replication.policy.class": "IdentityReplicationPolicy"}
NOW = 1_700_000_000_000


class Scene:
    """A topic that both clusters mirror into each other under its name."""

    def __init__(self, folder: Path, pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> None:
        self.topic = fresh_name("shared")
        self.here, self.there = fresh_name("here"), fresh_name("there")
        self._folder, self._pair = folder, pair
        self.configure()
        self.stage.create(self.topic)

    def configure(self, **options: str) -> None:
        """Write the file anew."""
        given = {name.replace("_", "."): value for name, value in options.items()}
        clusters = dict(zip((self.here, self.there), self._pair, strict=True))
        flows = [f"{self.here}->{self.there}", f"{self.there}->{self.here}"]
        self.stage = Rounds(self._folder, clusters, flows, {"topics": self.topic, **IDENTITY, **given})

    def findings(self) -> list[Finding]:
        """Of the flow from here to there."""
        flow = self.stage.config.flow(f"{self.here}->{self.there}")
        assert flow is not None
        return examine_foreign_mirrors(flow)

    def leave_positions(self, alias: str) -> str:
        """As MirrorMaker 2 leaves them here, for a flow from that cluster."""
        name, key = f"mm2-offsets.{alias}.internal", positions.encode_key(alias, TopicPartition(self.topic, 0))
        self.stage.create(name, [self.here])
        self.stage.write(self.here, name, [Record(0, NOW, key, positions.encode_value(Position(7)))])
        return name


@pytest.fixture
def scene(tmp_path: Path, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Iterator[Scene]:
    made = Scene(tmp_path, cluster_pair)
    yield made
    for cluster in cluster_pair:
        with admin_of(cluster) as admin:
            admin.delete_topics([name for name in admin.topics() if made.here in name or made.there in name])


def test_positions_without_a_ledger_are_another_mirror_s(scene: Scene) -> None:
    assert scene.findings() == []
    name = scene.leave_positions(scene.there)
    [finding] = scene.findings()
    assert (finding.severity, finding.subject) == (Severity.WARNING, scene.topic)
    assert f"another mirror seems to write to {scene.here}: {name} has positions of {scene.there}" in finding.message
    assert f"would go on to {scene.there}" in finding.message
    assert "provenance.header" in finding.hint
    scene.configure(provenance_header="origin")
    assert "fine if its records name their cluster in the header origin" in scene.findings()[0].hint
    scene.stage.create(f"mm2-ledger.{scene.there}.internal", [scene.here])
    assert scene.findings() == []


def test_positions_of_a_mirror_that_prefixes_names_are_none(scene: Scene) -> None:
    scene.leave_positions(scene.there)
    scene.stage.create(f"{scene.there}.{scene.topic}", [scene.here])
    assert scene.findings() == []


def test_flows_that_prefix_names_are_not_looked_at(scene: Scene) -> None:
    scene.leave_positions(scene.there)
    scene.configure(replication_policy_class="DefaultReplicationPolicy")
    assert scene.findings() == []


def test_offset_syncs_count_unless_they_may_be_ours(scene: Scene) -> None:
    sync = OffsetSync(TopicPartition(scene.topic, 0), 1, 1)
    stranger = fresh_name(f"{scene.here}-stranger")
    for alias in (scene.there, stranger):
        name = f"mm2-offset-syncs.{alias}.internal"
        scene.stage.create(name, [scene.here])
        scene.stage.write(scene.here, name, [Record(0, NOW, sync.encode_key(), sync.encode_value())])
    [finding] = scene.findings()
    assert f"mm2-offset-syncs.{stranger}.internal has offset syncs of them" in finding.message


def test_groups_of_other_tools_on_the_target_count(scene: Scene) -> None:
    group = fresh_name("connect-replicator")
    servers = scene.stage.clusters[scene.there].bootstrap_servers.split(",")
    with Groups(Access(scene.there, servers)) as groups:
        groups.commit({group: {TopicPartition(scene.topic, 0): Committed(0)}})
        [finding] = scene.findings()
        groups.delete([group])
    assert f"the group {group} of {scene.there} reads them" in finding.message


def test_headers_of_other_tools_count_but_not_what_our_own_flows_passed_on(scene: Scene) -> None:
    tagged = [record._replace(headers=[("X-Replicated-From", b"afar")]) for record in values("one", "two")]
    scene.stage.write(scene.there, scene.topic, tagged)
    scene.stage.mirror(f"{scene.there}->{scene.here}")
    assert scene.findings() == []
    scene.stage.write(scene.here, scene.topic, tagged)
    [finding] = scene.findings()
    assert "records have the header X-Replicated-From (afar)" in finding.message
    scene.configure(provenance_header="X-Replicated-From")
    [finding] = scene.findings()
    assert "says afar, which is no cluster of the file" in finding.message
    scene.configure(provenance_header="other")
    assert scene.findings() == []
