"""A mirror with its REST server, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import PATIENCE_SECONDS
from tests.control.told_mirror import TARGET, ToldMirror, Way
from tests.waiting import wait_until

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


class Station(ToldMirror):
    """A way for each test, and the mirror of all, which has its REST for each while it runs."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> None:
        self.paused, self.changed, self.placed, self.forgotten = (
            Way(source, target, prefix) for prefix in ("paused", "changed", "placed", "forgotten")
        )
        self._ways = [self.paused, self.changed, self.placed, self.forgotten]
        self._serving = ExitStack()
        self._root = ""
        super().__init__(self._ways, folder, {f"{way.name}.emit.heartbeats.enabled": "true" for way in self._ways})

    def start(self) -> None:
        """Start it with its server, and wait until both are well."""
        super().start()
        client = self._serving.enter_context(served(self.mirror))
        self._root = str(client.base_url).rstrip("/")
        wait_until(lambda: client.get("/health").status_code == 200, "a healthy mirror", PATIENCE_SECONDS)

    def stop(self) -> None:
        """Stop the server, then the mirror."""
        self._serving.close()
        super().stop()

    @contextmanager
    def client(self, way: Way) -> Iterator[httpx.Client]:
        """Asks below the path of one flow, where its connectors have Kafka Connect's plain names."""
        with httpx.Client(base_url=f"{self._root}/{way.alias}/{TARGET}", timeout=60) as client:
            yield client

    def detail(self, way: Way) -> dict[str, Any]:
        """What our own API says of a flow."""
        answer = httpx.get(f"{self._root}/api/v1/flows/{quote(way.name, safe='')}", timeout=60)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def put(client: httpx.Client, path: str, body: object = None) -> Answer:
    """PUT, which must succeed."""
    answer = client.put(path) if body is None else client.put(path, json=body)
    assert answer.is_success, answer.text
    return answer


def states(client: httpx.Client, path: str) -> tuple[str, list[str]]:
    """The state of a connector and those of its tasks."""
    status = client.get(f"{path}/status").json()
    return status["connector"]["state"], [task["state"] for task in status["tasks"]]
