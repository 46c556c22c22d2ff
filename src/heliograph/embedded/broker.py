"""One real Kafka node (broker, controller or both) as a child process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import javaproperties

from heliograph.embedded.child import ChildProcess
from heliograph.embedded.formatting import format_folder, is_formatted
from heliograph.embedded.jvm import Jvm
from heliograph.java import QUICK_START

_CONTROLLER = "CONTROLLER"

# A single machine has no replicas to wait for, nobody there wants to wait for a first rebalance, and records
# with made-up times of long ago must not expire.
_SMALL_CLUSTER_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "10",
    "transaction.state.log.num.partitions": "10",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.segment.bytes": str(256 * 1024 * 1024),
    "log.retention.ms": "-1",
    "controlled.shutdown.enable": "true",
    "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),  # wiped for each log that is compacted; usually 128 MB
    "metadata.max.idle.interval.ms": "0",  # a controller at rest would write, and every broker read, twice a second
}
_REPLICATED = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")


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
    tuning: Sequence[str] = QUICK_START
    features: Mapping[str, int] = field(default_factory=dict)

    def properties(self) -> dict[str, str]:
        """The node's server.properties."""
        return {
            "process.roles": self.roles,
            "node.id": str(self.node_id),
            "controller.quorum.voters": self.quorum_voters,
            "log.dirs": str(self.folder / "data"),
            **{f"{topic}.replication.factor": str(self.replication_factor) for topic in _REPLICATED},
            **_SMALL_CLUSTER_SETTINGS,
            **self._listener_properties(),
            **self.settings,
        }

    def _listener_properties(self) -> dict[str, str]:
        clients = [listener for listener in self.listeners if listener.name != _CONTROLLER]
        protocols = {_CONTROLLER: "PLAINTEXT", **{each.name: each.protocol for each in self.listeners}}
        properties = {
            "controller.listener.names": _CONTROLLER,
            "listeners": ",".join(f"{each.name}://{each.address}" for each in self.listeners),
            "listener.security.protocol.map": ",".join(f"{name}:{how}" for name, how in protocols.items()),
        }
        if clients:
            properties["inter.broker.listener.name"] = clients[0].name
            properties["advertised.listeners"] = ",".join(
                f"{each.name}://{each.advertised or each.address}" for each in clients
            )
        for listener in self.listeners:
            prefix = f"listener.name.{listener.name.lower()}."
            properties.update({prefix + key: value for key, value in listener.settings.items()})
        return properties


class Broker:
    """A node that can be started, stopped, killed and started again on the same data."""

    def __init__(self, name: str, spec: BrokerSpec, jvm: Jvm) -> None:
        self.name = name
        self.spec = spec
        self._jvm = jvm
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
        server.write_text(javaproperties.dumps(self.spec.properties(), timestamp=False))
        if not is_formatted(folder / "data"):
            format_folder(self._jvm, folder / "data", self.spec.cluster_id, self.spec.node_id, self.spec.features)
        command = self._jvm.command(folder, "kafka.Kafka", str(server), heap=self.spec.heap, tuning=self.spec.tuning)
        self._process = ChildProcess(self.name, command, self.log)

    def begin_stop(self) -> None:
        """Ask the node to end, if it was ever started; `stop` waits for it."""
        if self._process is not None:
            self._process.begin_stop()

    def stop(self, timeout: float = 15) -> None:
        """End the node, if it was ever started: kindly first, by force after the timeout."""
        if self._process is not None:
            self._process.stop(timeout)
