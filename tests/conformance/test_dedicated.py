"""What MirrorMaker 2's tests expect of its dedicated mode: processes that are started for a file, and end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import TakenOver
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.conformance.route import Route, expect_monotonic
from tests.conformance.settings import EVERY_SECOND, chosen, flow_names
from tests.conformance.site import PARTITIONS, Site
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_ODD_ALIAS = r"""odd- ._~:/?#[]@!$&'()*+;"<>%{}|\^`618"""


class Node:
    """A mirror of one file that can be started again."""

    def __init__(
        self, folder: Path, clusters: Mapping[str, EmbeddedCluster], routes: Mapping[str, Route], extra: dict[str, str]
    ) -> None:
        self._settings, self._log = folder / "mm2.properties", folder / "mirror.log"
        self.routes = routes
        options = {**EVERY_SECOND, **chosen(*routes.values()), **extra}
        write_settings(self._settings, clusters, flow_names(*routes.values()), options)
        self.process = self._start()

    def restart(self) -> None:
        """End it in good order, and begin anew."""
        assert self.process.stop() == 0
        self.process = self._start()

    def _start(self) -> MirrorProcess:
        return MirrorProcess(self._settings, self._log)


@pytest.fixture(scope="module")
def node(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """One process; of its flows one writes no offset syncs, and one begins with the latest records."""
    den = Site("den", backup.bootstrap_servers)
    routes = {label: Route(label, Site(label, primary.bootstrap_servers), den) for label in ("solo", "hush", "late")}
    clusters = {**dict.fromkeys(routes, primary), "den": backup}
    extra = {
        "hush->den.emit.offset-syncs.enabled": "false",
        "late.consumer.auto.offset.reset": "latest",
        "sync.group.offsets.enabled": "true",
    }
    running = Node(tmp_path_factory.mktemp("dedicated"), clusters, routes, extra)
    try:
        yield running
        assert running.process.stop() == 0
    finally:
        running.process.kill()


def test_single_node_cluster(node: Node) -> None:
    route = node.routes["solo"]
    for _ in range(2):  # the second while the mirror runs
        topic = route.new_topic()
        route.write(topic, 10)
        route.expect_copy(topic)


def test_replication_without_offset_sync_will_not_create_offset_syncs_topic(node: Node) -> None:
    """And groups follow all the same: they are translated by the ledger."""
    route = node.routes["hush"]
    topic = group = route.new_topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    places = route.await_checkpoints(group, topic, route.commit_after(group, topic, 4))
    route.expect_rest(topic, places, 4)
    route.expect_rest(topic, route.await_group(group, topic), 4)
    topics = route.source.topics() | route.target.topics()
    assert not {"mm2-offset-syncs.hush.internal", "mm2-offset-syncs.den.internal"} & topics


def test_cluster_with_emit_offset_disabled(node: Node) -> None:
    """Flows beside the one that does without go on with theirs."""
    for label in ("hush", "solo"):
        route = node.routes[label]
        topic = route.new_topic()
        route.write(topic, 10)
        route.expect_copy(topic)
    wait_until(lambda: "mm2-offset-syncs.solo.internal" in route.target.topics(), "offset syncs", 30, 0.2)
    assert "mm2-offset-syncs.hush.internal" not in route.target.topics()


def test_replicate_from_latest(node: Node) -> None:
    """Of what was there before nothing is copied; of what comes after the first that is, everything."""
    route = node.routes["late"]
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


def test_restart_replication(node: Node) -> None:
    """Records are copied once, checkpoints never go back, and groups reach the end."""
    route = node.routes["solo"]
    topic = group = route.new_topic()
    route.write(topic, 10)
    route.expect_copy(topic)
    route.await_checkpoints(group, topic, route.commit_after(group, topic, 10))
    before = route.checkpoints(group, topic)

    node.restart()
    route.write(topic, 10)
    route.expect_copy(topic)
    places = route.await_checkpoints(group, topic, route.commit_after(group, topic, 20))
    route.expect_rest(topic, places, 20)
    written = route.checkpoints(group, topic)
    assert written[: len(before)] == before
    expect_monotonic(written)
    route.await_group_at(group, topic, places)


def test_multi_node_cluster(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> None:
    """Of two that start at once one stays, and mirrors alone; a third with another configuration takes over from it."""
    settings, alias = tmp_path / "mm2.properties", _escaped(_ODD_ALIAS)
    route = Route("knot", Site("knot", primary.bootstrap_servers), Site(_ODD_ALIAS, backup.bootstrap_servers))

    def configure(topics: str) -> None:
        options = {**EVERY_SECOND, "topics": topics, "groups": "knot-.*"}
        write_settings(settings, {"knot": primary, alias: backup}, [f"knot->{alias}"], options)

    with ExitStack() as ending:

        def start(number: int) -> MirrorProcess:
            folder = tmp_path / f"node-{number}"
            folder.mkdir()
            process = MirrorProcess(settings, folder / "mirror.log")
            ending.callback(process.kill)
            return process

        first, second = route.new_topic(), route.new_topic()
        configure(f"{first}, knot-later-.*")
        nodes = [start(number) for number in range(2)]
        route.write(first, 10)
        route.expect_copy(first)
        wait_until(lambda: not all(map(_is_running, nodes)), "one of two to end", 60, 0.2)
        [keeper] = filter(_is_running, nodes)
        assert [node.wait(1) for node in nodes if node is not keeper] == [TakenOver.exit_code]

        later = f"knot-later-{first}"
        route.source.create(later)
        for topic in (first, later):
            route.write(topic, 10)
            route.expect_copy(topic)

        configure("knot-.*")
        successor = start(2)
        route.write(second, 10)
        route.write(first, 10)
        route.expect_copy(second)
        route.expect_copy(first)
        assert keeper.wait(30) == TakenOver.exit_code
        assert successor.stop() == 0


def _is_running(node: MirrorProcess) -> bool:
    try:
        node.wait(0)
    except TimeoutExpired:
        return True
    return False


def _escaped(alias: str) -> str:
    """As it stands in a properties file."""
    return "".join(f"\\{letter}" if letter in "\\:= #!" else letter for letter in alias)
