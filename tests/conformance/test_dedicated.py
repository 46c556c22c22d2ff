"""What MirrorMaker 2's tests expect of its dedicated mode: processes that are started for a file, and end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import TakenOver
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.conformance.route import START_SECONDS, Route, expect_monotonic
from tests.conformance.settings import EVERY_SECOND
from tests.conformance.site import Site
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_ODD_ALIAS = r"""odd- ._~:/?#[]@!$&'()*+;"<>%{}|\^`618"""


class Nodes:
    """Mirrors that are started for the same file; its target has an alias that must be quoted wherever it goes."""

    def __init__(self, folder: Path, primary: EmbeddedCluster, backup: EmbeddedCluster) -> None:
        self._folder = folder
        self._file = folder / "mm2.properties"
        self._clusters = {"solo": primary, _escaped(_ODD_ALIAS): backup}
        self.route = Route("solo", Site("solo", primary.bootstrap_servers), Site(_ODD_ALIAS, backup.bootstrap_servers))
        self.started: list[MirrorProcess] = []

    def configure(self, topics: str) -> None:
        """Let those that start from now on mirror these topics."""
        options = {**EVERY_SECOND, "sync.group.offsets.enabled": "true", "topics": topics, "groups": "solo-.*"}
        write_settings(self._file, self._clusters, ["->".join(self._clusters)], options)

    def start(self, count: int = 1) -> list[MirrorProcess]:
        """More of them, which are about to mirror when this returns: how soon they get there is not measured."""
        logs = [self._folder / f"mirror-{len(self.started) + number}.log" for number in range(count)]
        newcomers = [MirrorProcess(self._file, log) for log in logs]
        self.started += newcomers
        for node in newcomers:
            wait_until(partial(_is_starting, node), f"a mirror to start: {logs}", START_SECONDS, 0.1)
        return newcomers

    def running(self) -> list[MirrorProcess]:
        """Those that have not ended."""
        return [node for node in self.started if _is_running(node)]


@pytest.fixture(scope="module")
def nodes(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nodes]:
    """At first only one."""
    made = Nodes(tmp_path_factory.mktemp("dedicated"), primary, backup)
    made.configure("solo-.*")
    made.start()
    try:
        yield made
        assert [node.stop() for node in made.running()] == [0]
    finally:
        for node in made.started:
            node.kill()


def test_single_node_cluster(nodes: Nodes) -> None:
    for _ in range(2):  # the second while the mirror runs
        topic = nodes.route.new_topic()
        nodes.route.write(topic, 10)
        nodes.route.expect_copy(topic)


def test_restart_replication(nodes: Nodes) -> None:
    """Records are copied once, checkpoints never go back, and groups reach the end."""
    route = nodes.route
    topic = group = route.new_topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    route.await_checkpoints(group, topic, route.commit_after(group, topic, 10))
    before = route.checkpoints(group, topic)

    assert [node.stop() for node in nodes.running()] == [0]
    nodes.start()
    route.write(topic, 10)
    route.expect_copy(topic)
    places = route.await_checkpoints(group, topic, route.commit_after(group, topic, 20))
    route.expect_rest(topic, places, 20)
    written = route.checkpoints(group, topic)
    assert written[: len(before)] == before
    expect_monotonic(written)
    route.await_group_at(group, topic, places)


def test_multi_node_cluster(nodes: Nodes) -> None:
    """Of three for the same file one mirrors, the newest or the one beside it; what the file says by then counts."""
    route = nodes.route
    topic, other = route.new_topic(), fresh_name("more")
    route.source.create(other)
    for name in (topic, other):
        route.write(name, 10)
    route.expect_copy(topic)
    assert route.copy_of(other) not in route.target.topics()

    [before] = nodes.running()
    nodes.configure("solo-.*, more-.*")
    newcomers = nodes.start(2)
    route.write(topic, 10)
    wait_until(lambda: len(nodes.running()) == 1, "two of three to end", 60, 0.2)
    [keeper] = nodes.running()
    assert keeper in newcomers
    assert [node.wait(1) for node in (before, *newcomers) if node is not keeper] == [TakenOver.exit_code] * 2

    later = route.new_topic()
    route.write(later, 10)
    for name in (topic, other, later):
        route.expect_copy(name)


def _is_starting(node: MirrorProcess) -> bool:
    return "INFO starting solo->" in node.log_text()


def _is_running(node: MirrorProcess) -> bool:
    try:
        node.wait(0)
    except TimeoutExpired:
        return True
    return False


def _escaped(alias: str) -> str:
    """As it stands in a properties file."""
    return "".join(f"\\{letter}" if letter in "\\:= #!" else letter for letter in alias)
