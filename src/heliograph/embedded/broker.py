"""One real Kafka node (broker, controller or both) as a child process."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from heliograph.embedded.child import ChildProcess

_LOGGING = """status=error
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""

# A single machine has no replicas to wait for, and nobody there wants to wait for a first rebalance.
_SMALL_CLUSTER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "10",
    "transaction.state.log.num.partitions": "10",
    "share.coordinator.state.topic.num.partitions": "1",
    "log.segment.bytes": str(256 * 1024 * 1024),
    "controlled.shutdown.enable": "true",
}


@dataclass(frozen=True)
class Listener:
    """An address that a broker listens on, and how clients are let in there."""

    name: str
    protocol: str = "PLAINTEXT"
    port: int = 0
    advertised: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Where the broker really listens."""
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True)
class BrokerSpec:
    """All that makes one node: its place in the cluster, its folder, its listeners and settings."""

    node_id: int
    roles: str
    cluster_id: str
    quorum_voters: str
    listeners: Sequence[Listener]
    folder: Path
    replication_factor: int
    settings: Mapping[str, str]
    heap: str = "512m"

    def properties(self) -> dict[str, str]:
        """The node's server.properties."""
        clients = [listener for listener in self.listeners if listener.name != "CONTROLLER"]
        mapping = ",".join(f"{listener.name}:{listener.protocol}" for listener in self.listeners)
        copies = str(self.replication_factor)
        properties = {
            "process.roles": self.roles,
            "node.id": str(self.node_id),
            "controller.quorum.voters": self.quorum_voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(f"{listener.name}://{listener.address}" for listener in self.listeners),
            "listener.security.protocol.map": mapping if "CONTROLLER" in mapping else f"{mapping},CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": copies,
            "share.coordinator.state.topic.min.isr": "1",
            **_SMALL_CLUSTER_SETTINGS,
        }
        if clients:
            properties["advertised.listeners"] = ",".join(
                f"{listener.name}://{listener.advertised or listener.address}" for listener in clients
            )
            properties["inter.broker.listener.name"] = clients[0].name
        for listener in self.listeners:
            prefix = f"listener.name.{listener.name.lower()}."
            properties.update({prefix + key: value for key, value in listener.settings.items()})
        return {**properties, **self.settings}


class Broker:
    """A node that can be started, stopped, killed and started again on the same data."""

    def __init__(self, name: str, spec: BrokerSpec, java: Path, jars: Path) -> None:
        self.name = name
        self.spec = spec
        self._java = java
        self._jars = jars
        self._process: ChildProcess | None = None

    @property
    def process(self) -> ChildProcess:
        """The running process."""
        assert self._process is not None, f"{self.name} was never started"
        return self._process

    @property
    def log(self) -> Path:
        """What the broker wrote."""
        return self.spec.folder / "broker.log"

    def start(self) -> None:
        """Start the process; returns at once, before the broker is ready."""
        folder = self.spec.folder
        folder.mkdir(parents=True, exist_ok=True)
        server = folder / "server.properties"
        server.write_text("".join(f"{key}={value}\n" for key, value in self.spec.properties().items()))
        (folder / "log4j2.properties").write_text(_LOGGING)
        serve = self._java_command("kafka.Kafka", str(server), heap=self.spec.heap)
        command = serve if (folder / "data" / "meta.properties").exists() else self._format_then(serve, server)
        self._process = ChildProcess(self.name, command, self.log)

    def _format_then(self, serve: list[str], server: Path) -> list[str]:
        arguments = ["format", "--cluster-id", self.spec.cluster_id, "--config", str(server)]
        format_storage = self._java_command("kafka.tools.StorageTool", *arguments, heap="128m")
        return ["/bin/sh", "-c", f"{shlex.join(format_storage)} && exec {shlex.join(serve)}"]

    def _java_command(self, main_class: str, *arguments: str, heap: str) -> list[str]:
        return [
            str(self._java), f"-Xmx{heap}", f"-Xms{heap}", "-XX:+UseG1GC", "-Djava.awt.headless=true",
            f"-Dlog4j2.configurationFile={self.spec.folder / 'log4j2.properties'}",
            "-cp", f"{self._jars}/*", main_class, *arguments,
        ]  # fmt: skip
