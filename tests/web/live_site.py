"""Two clusters that mirror each other under load, and the server that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.stage import admin_of, await_growth, ends, write_settings
from tests.control.rest.serving import LOOPBACK, TOKENS, token_of
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 4
_OPTIONS = {
    "emit.heartbeats.enabled": "true",
    "emit.heartbeats.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "2",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "2",
    "refresh.topics.interval.seconds": "5",
    "heartbeats.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
}


@dataclass
class LiveSite:
    """What is mirrored, by whom, and how to ask about it."""

    mirror: RunningMirror
    root: str
    source: EmbeddedCluster
    target: EmbeddedCluster
    flow: str
    back: str
    topic: str
    idle_topic: str
    left_out: str
    group: str
    group_offset: int = 0  # in every partition of the topic

    @property
    def copy(self) -> str:
        """The topic's name on the target."""
        return f"{self.flow.split('->')[0]}.{self.topic}"

    def link(self, *below: str) -> str:
        """The address of a flow's page."""
        return "#/flows/" + "/".join(quote(part, safe="") for part in (self.flow, *below))

    def get(self, path: str) -> Any:
        """What the API says itself."""
        headers = {"Authorization": f"Bearer {token_of('viewer')}"}
        answer = httpx.get(f"{self.root}/api/v1/{path}", headers=headers, timeout=60, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def of_flow(self, below: str = "") -> Any:
        """What the API says of the flow."""
        return self.get(f"flows/{quote(self.flow, safe='')}{below and f'/{below}'}")


@contextmanager
def running_site(clusters: Sequence[EmbeddedCluster], folder: Path) -> Iterator[LiveSite]:
    """All of it, with records already on the target and a group that was followed there."""
    source, target = clusters
    aliases = fresh_name("north"), fresh_name("south")
    names = {"topic": fresh_name("orders"), "idle_topic": fresh_name("invoices"), "left_out": fresh_name("audit")}
    group = fresh_name("billing")
    with ExitStack() as on_exit:
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names.values()])
        mirror = RunningMirror(load(_write_file(folder, aliases, clusters, names, group)))
        load_on_source = Load(source.bootstrap_servers, names["topic"], PARTITIONS, per_second=200)
        on_exit.enter_context(load_on_source)
        mirror.start()
        on_exit.callback(mirror.stop)
        server = RestServer(mirror, (LOOPBACK,))
        server.start()
        on_exit.callback(server.stop)
        flow, back = "->".join(aliases), "->".join(reversed(aliases))
        site = LiveSite(mirror, server.addresses[0], source, target, flow, back, **names, group=group)
        await_growth(target, site.copy)
        _commit(site)
        yield site


def _write_file(
    folder: Path, aliases: tuple[str, str], clusters: Sequence[EmbeddedCluster], names: dict[str, str], group: str
) -> Path:
    file = folder / "mm2.properties"
    flow, back = "->".join(aliases), "->".join(reversed(aliases))
    topics = {f"{flow}.topics": f"{names['topic']}, {names['idle_topic']}", f"{back}.topics": "nothing-such"}
    # Heartbeats that other tests have left on the source may be old, and would count as what waits for this mirror.
    alone = {f"{flow}.heartbeats.replication.enabled": "false"}
    options = {**_OPTIONS, **topics, **alone, "groups": group}
    write_settings(file, dict(zip(aliases, clusters, strict=True)), [flow, back], options)
    with file.open("a") as lines:
        lines.write(TOKENS)
    return file


def _commit(site: LiveSite) -> None:
    """A group reads on the source, behind some transactions; its places can soon be told on the target."""
    site.group_offset = min(ends(site.source, site.topic).values())
    offsets = {TopicPartition(site.topic, number): Committed(site.group_offset) for number in range(PARTITIONS)}
    await_growth(site.target, site.copy)
    with Groups(Access("source", site.source.bootstrap_servers.split(","))) as groups:
        groups.commit({site.group: offsets})
    wait_until(lambda: _is_followed(site), "a group that is known on the target", 60, 0.5)


def _is_followed(site: LiveSite) -> bool:
    places = [place for group in site.of_flow("groups")["groups"] for place in group["partitions"]]
    return len(places) == PARTITIONS and all(place["target_offset"] is not None for place in places)


@contextmanager
def another_server(mirror: RunningMirror, listener: str = LOOPBACK) -> Iterator[RestServer]:
    """A second server of the same mirror, which may go away without harm to other tests."""
    server = RestServer(mirror, (listener,))
    server.start()
    try:
        yield server
    finally:
        server.stop()
