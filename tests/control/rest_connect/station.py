"""A mirror with its REST server, and clients of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.stage import admin_of, copies, ends, expect_equal, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 2
SOON = 2.0  # seconds within which a pause or its end must act
SOURCE = "/connectors/MirrorSourceConnector"
CHECKPOINT = "/connectors/MirrorCheckpointConnector"
HEARTBEAT = "/connectors/MirrorHeartbeatConnector"

Answer = httpx.Response


@contextmanager
def served(mirror: RunningMirror) -> Iterator[httpx.Client]:
    """A client of a server for the mirror, which need not run."""
    server = RestServer(mirror, ["http://127.0.0.1:0"])
    server.start()
    try:
        with httpx.Client(base_url=server.addresses[0], timeout=60) as client:
            yield client
    finally:
        server.stop()


@contextmanager
def at_rest(folder: Path, lines: Mapping[str, str]) -> Iterator[httpx.Client]:
    """A client of a mirror that never starts, of a file with these lines."""
    file = folder / "mm2.properties"
    file.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    with served(RunningMirror(load(file))) as client:
        yield client


class Station:
    """Two topics, a file that mirrors the first, and mirrors of it with their REST."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> None:
        self.source, self.target = source, target
        self.alias = fresh_name("rest")
        self.topic, self.other = fresh_name("first"), fresh_name("second")
        self.name = f"{self.alias}->backup"
        self._file, self._log = folder / "mm2.properties", folder / "log"
        self._log.touch()
        options = {
            f"{self.name}.topics": self.topic,
            f"{self.name}.emit.heartbeats.enabled": "true",
            "tasks.max": "1",
            "heartbeats.replication.enabled": "false",  # other tests may have left some on the clusters
            "heartbeats.topic.replication.factor": "1",
            "config.storage.replication.factor": "1",
            "checkpoints.topic.replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
        }
        write_settings(self._file, {self.alias: source, "backup": target}, [self.name], options)
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (self.topic, self.other)])

    @contextmanager
    def running(self) -> Iterator[httpx.Client]:
        """A client of a mirror that runs."""
        mirror = RunningMirror(load(self._file))
        mirror.start()
        try:
            with served(mirror) as client:
                wait_until(lambda: client.get("/health").status_code == 200, "a healthy mirror", 60)
                yield client
        finally:
            mirror.stop()

    @contextmanager
    def served_at_rest(self) -> Iterator[httpx.Client]:
        """A client of a mirror that does not run, though its clusters do."""
        with served(RunningMirror(load(self._file))) as client:
            yield client

    def load(self, topic: str) -> Load:
        """Records from now on."""
        return Load(self.source.bootstrap_servers, topic, PARTITIONS, per_second=200)

    def copy(self, topic: str) -> str:
        """What the topic is called on the target."""
        return f"{self.alias}.{topic}"

    def ends(self) -> dict[TopicPartition, int]:
        """Where the copy of the first topic ends."""
        return ends(self.target, self.copy(self.topic))

    def expect_equal(self, topic: str, at_least: int) -> None:
        """Both sides hold the same records."""
        expect_equal(self.source, self.target, copies(topic, self.copy(topic), PARTITIONS), at_least, self._log)

    def await_rest(self) -> dict[TopicPartition, int]:
        """Where the copy ends once it has stopped moving, which must be soon; for a while it must not move then."""
        time.sleep(SOON)
        rest = self.ends()
        time.sleep(1)
        assert self.ends() == rest
        return rest

    def counts(self) -> dict[int, int]:
        """How many records each partition of the copy holds."""
        copy = self.copy(self.topic)
        access = Access("backup", self.target.bootstrap_servers.split(","))
        with opened(access, [copy]) as (loop, network):
            starts = reading.list_offsets(network, copy, dict.fromkeys(range(PARTITIONS), EARLIEST))
            found = Counter(number for number, _ in reading.read_to_end(loop, network, copy, starts))
        return {number: found[number] for number in range(PARTITIONS)}

    def place(self, partition: int) -> dict[str, Any]:
        """A source partition as Connect names it."""
        return {"cluster": self.alias, "partition": partition, "topic": self.topic}


def put(client: httpx.Client, path: str, body: object = None) -> Answer:
    """PUT, which must succeed."""
    answer = client.put(path) if body is None else client.put(path, json=body)
    assert answer.is_success, answer.text
    return answer


def states(client: httpx.Client, path: str) -> tuple[str, list[str]]:
    """The state of a connector and those of its tasks."""
    status = client.get(f"{path}/status").json()
    return status["connector"]["state"], [task["state"] for task in status["tasks"]]
