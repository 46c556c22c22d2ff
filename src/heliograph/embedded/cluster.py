"""A real Kafka cluster (KRaft) of one or more brokers on this machine."""

from __future__ import annotations

import base64
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from heliograph.embedded.broker import Broker, BrokerSpec, Listener
from heliograph.embedded.jars import fetch_jars
from heliograph.embedded.ports import free_ports
from heliograph.java import ensure_java
from heliograph.kafka.probe import count_brokers

_CONTROLLER_NODE = 100


@dataclass(frozen=True)
class ClusterSpec:
    """What a cluster should look like.

    The first listener of every broker is a plain one called PLAINTEXT, which the brokers themselves use; `listeners`
    adds others, e.g. with TLS or SASL. With `separate_controller`, every broker can be killed without losing the
    controller.
    """

    alias: str
    brokers: int = 1
    listeners: Sequence[Listener] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    separate_controller: bool = False
    heap: str = "512m"
    folder: Path | None = None


class EmbeddedCluster:
    """A running cluster. Its folder is deleted at the end unless the caller named one."""

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        self._is_temporary = spec.folder is None
        self.folder = spec.folder or Path(tempfile.mkdtemp(prefix=f"heliograph-{spec.alias}-"))
        nodes = self._plan_nodes()
        java, jars = ensure_java(), fetch_jars()
        self.nodes = [Broker(f"{spec.alias}-{node.node_id}", node, java, jars) for node in nodes]
        self.brokers = [node for node in self.nodes if "broker" in node.spec.roles]

    @property
    def alias(self) -> str:
        """The cluster's name."""
        return self.spec.alias

    @property
    def bootstrap_servers(self) -> str:
        """Where clients that need no credentials connect."""
        return self.addresses("PLAINTEXT")

    def addresses(self, listener_name: str) -> str:
        """The bootstrap servers of one listener, as clients should see them."""
        return ",".join(
            listener.advertised or listener.address
            for broker in self.brokers
            for listener in broker.spec.listeners
            if listener.name == listener_name
        )

    def begin_start(self) -> None:
        """Start all processes without waiting for them."""
        for node in self.nodes:
            node.start()

    def wait_until_ready(self, timeout: float = 60) -> None:
        """Wait until the metadata names every broker."""
        everyone = len(self.brokers)
        for broker in self.brokers:
            address = broker.spec.listeners[0].address
            broker.process.wait_until(lambda address=address: count_brokers(address) == everyone, timeout)  # type: ignore[misc]

    def start(self) -> None:
        """Start the cluster and wait until it answers."""
        self.begin_start()
        self.wait_until_ready()

    def stop(self) -> None:
        """Stop all processes; delete the data unless the caller named the folder."""
        for node in self.nodes:
            node.process.begin_stop()
        for node in reversed(self.nodes):
            node.process.stop()
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> EmbeddedCluster:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _plan_nodes(self) -> list[BrokerSpec]:
        spec = self.spec
        brokers = list(range(1, spec.brokers + 1))
        controllers = [_CONTROLLER_NODE] if spec.separate_controller else brokers
        own = [Listener("PLAINTEXT"), *spec.listeners]
        ports = iter(self._ports(len(brokers) * len(own) + len(controllers)))
        controller_ports = {node: next(ports) for node in controllers}
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in controller_ports.items())
        cluster_id = self._cluster_id()

        def node_spec(node: int) -> BrokerSpec:
            roles = [role for role, nodes in (("broker", brokers), ("controller", controllers)) if node in nodes]
            listeners = [replace(listener, port=listener.port or next(ports)) for listener in own if node in brokers]
            if node in controllers:
                listeners.append(Listener("CONTROLLER", port=controller_ports[node]))
            return BrokerSpec(
                node_id=node, roles=",".join(roles), cluster_id=cluster_id, quorum_voters=voters,
                listeners=listeners, folder=self.folder / f"node-{node}", replication_factor=min(spec.brokers, 3),
                settings=spec.settings, heap=spec.heap,
            )  # fmt: skip

        return [node_spec(node) for node in dict.fromkeys([*controllers, *brokers])]

    def _ports(self, count: int) -> list[int]:
        """The ports of an earlier run on the same folder, so that clients find the cluster again; else free ones."""
        remembered = self.folder / "ports"
        if remembered.exists():
            ports = [int(port) for port in remembered.read_text().split()]
            if len(ports) == count:
                return ports
        ports = free_ports(count)
        self.folder.mkdir(parents=True, exist_ok=True)
        remembered.write_text(" ".join(map(str, ports)))
        return ports

    def _cluster_id(self) -> str:
        remembered = self.folder / "cluster-id"
        if not remembered.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            remembered.write_text(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))
        return remembered.read_text()


@contextmanager
def running_clusters(*specs: ClusterSpec, say: Callable[[str], None] = lambda _: None) -> Iterator[list[EmbeddedCluster]]:
    """Several clusters started side by side, and stopped together."""
    clusters = [EmbeddedCluster(spec) for spec in specs]
    try:
        for cluster in clusters:
            cluster.begin_start()
        for cluster in clusters:
            cluster.wait_until_ready()
            say(f"cluster {cluster.alias} is ready at {cluster.bootstrap_servers}")
        yield clusters
    finally:
        for cluster in clusters:
            cluster.stop()
