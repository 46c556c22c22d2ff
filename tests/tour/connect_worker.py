"""A real Kafka Connect worker, in its distributed mode, as a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import httpx
import javaproperties

from heliograph.embedded.child import ChildProcess
from heliograph.embedded.jvm import Jvm
from heliograph.embedded.ports import free_ports

_MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_TOPICS = ("offset", "config", "status")


class ConnectWorker:
    """The only worker of a Connect cluster that keeps its own topics on the given brokers."""

    def __init__(self, bootstrap_servers: str, folder: Path, heap: str = "384m") -> None:
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        self.url = f"http://{self.address}"
        self._folder = folder
        self._heap = heap
        self._settings = _settings(bootstrap_servers, self.url)
        self._process: ChildProcess | None = None

    def __enter__(self) -> ConnectWorker:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "connect.properties"
        file.write_text(javaproperties.dumps(self._settings, timestamp=False))
        command = Jvm.prepare().command(self._folder, _MAIN_CLASS, str(file), heap=self._heap)
        self._process = ChildProcess("Kafka Connect", command, self._folder / "connect.log")
        try:
            self._process.wait_until(self._is_healthy, 90)
        except BaseException:
            self._process.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.stop(30)

    def _is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


def _settings(bootstrap_servers: str, url: str) -> Mapping[str, str]:
    storage = {f"{name}.storage.topic": f"tour-{name}s" for name in _TOPICS}
    copies = {f"{name}.storage.replication.factor": "1" for name in _TOPICS}
    partitions = {"offset.storage.partitions": "1", "status.storage.partitions": "1"}
    converters = {f"{kind}.converter": _BYTES for kind in ("key", "value", "header")}
    return {
        **storage, **copies, **partitions, **converters,
        "bootstrap.servers": bootstrap_servers,
        "group.id": "tour",
        "listeners": url,
        "plugin.discovery": "service_load",
        "connector.client.config.override.policy": "All",
        "offset.flush.interval.ms": "1000",
        "scheduled.rebalance.max.delay.ms": "0",
    }  # fmt: skip
