"""A real Kafka cluster (KRaft) of one or more brokers on this machine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType

from heliograph.embedded.broker import Broker, BrokerSpec, Listener
from heliograph.embedded.formatting import new_id
from heliograph.embedded.jvm import Jvm
from heliograph.embedded.ports import free_ports
from heliograph.java import QUICK_START
from heliograph.kafka.probe import count_brokers

_CONTROLLER_NODE = 100
_STOP_TIMEOUT = 15
KEEP_LOGS = "HELIOGRAPH_KEEP_LOGS"  # names a folder for the logs of clusters whose own folder is deleted
_running: weakref.WeakSet[EmbeddedCluster] = weakref.WeakSet()


@dataclass(frozen=True)
class ClusterSpec:
    """What a cluster should look like.

    The first listener of every broker is a plain one called PLAINTEXT, which the brokers themselves use;
    `listeners` adds others, e.g. with TLS or SASL. With `separate_controller`, every broker can be killed
    without losing the controller. `racks` names the rack of each broker.
    """

    alias: str
    brokers: int = 1
    listeners: Sequence[Listener] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    separate_controller: bool = False
    heap: str = "512m"
    tuning: Sequence[str] = QUICK_START
    folder: Path | None = None
    racks: Sequence[str] = ()
    features: Mapping[str, int] = field(default_factory=dict)  # levels other than the newest


class EmbeddedCluster:
    """A running cluster. Its folder is deleted at the end unless the caller named one."""

    def __init__(self, spec: ClusterSpec) -> None:
        self.spec = spec
        jvm = Jvm.prepare()
        self._is_temporary = spec.folder is None
        self.folder = spec.folder or Path(tempfile.mkdtemp(prefix=f"heliograph-{spec.alias}-"))
        self.nodes = [Broker(f"{spec.alias}-{node.node_id}", node, jvm) for node in self._plan_nodes()]
        self.brokers = [node for node in self.nodes if "broker" in node.spec.roles]

    @classmethod
    def running(cls) -> list[EmbeddedCluster]:
        """The clusters that this process has started and not stopped."""
        return list(_running)

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
        _running.add(self)
        for node in self.nodes:
            node.start()

    def wait_until_ready(self, timeout: float = 60) -> None:
        """Wait until every broker answers and names all the others."""
        for broker in self.brokers:
            broker.process.wait_until(partial(self._is_complete_for, broker), timeout)

    def start(self) -> None:
        """Start the cluster and wait until it answers; a failed start leaves nothing running."""
        try:
            self.begin_start()
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def begin_stop(self) -> None:
        """Ask the brokers to end without waiting for them; controllers are left to see them off."""
        for broker in self.brokers:
            broker.begin_stop()

    def stop(self) -> None:
        """Stop all processes; delete data and logs unless the caller named the folder."""
        self.begin_stop()
        deadline = time.monotonic() + _STOP_TIMEOUT
        for node in [*self.brokers, *self.nodes]:
            node.stop(max(deadline - time.monotonic(), 1))
        _running.discard(self)
        if self._is_temporary:
            self._keep_logs()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _keep_logs(self) -> None:
        """For whoever wants to know later what a cluster did that is gone."""
        if place := os.environ.get(KEEP_LOGS):
            for node in self.nodes:
                if node.log.exists():
                    kept = Path(place, self.folder.name, f"{node.name}.log")
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(node.log, kept)

    def __enter__(self) -> EmbeddedCluster:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_complete_for(self, broker: Broker) -> bool:
        for node in self.nodes:
            node.process.ensure_running()
        return count_brokers(broker.spec.listeners[0].address) == len(self.brokers)

    def _plan_nodes(self) -> list[BrokerSpec]:
        spec = self.spec
        brokers = list(range(1, spec.brokers + 1))
        controllers = [_CONTROLLER_NODE] if spec.separate_controller else brokers
        own = [Listener("PLAINTEXT"), *spec.listeners]
        ports = iter(self._ports(len(brokers) * len(own) + len(controllers)))
        controller_ports = {node: next(ports) for node in controllers}
        voters = ",".join(f"{node}@127.0.0.1:{port}" for node, port in controller_ports.items())
        cluster_id = self._cluster_id()
        racks = {node: {"broker.rack": rack} for node, rack in zip(brokers, spec.racks, strict=False)}

        def node_spec(node: int) -> BrokerSpec:
            groups = {"broker": brokers, "controller": controllers}
            roles = [role for role, nodes in groups.items() if node in nodes]
            listeners = [replace(each, port=each.port or next(ports)) for each in own if node in brokers]
            if node in controllers:
                listeners.append(Listener("CONTROLLER", port=controller_ports[node]))
            return BrokerSpec(
                node_id=node, roles=",".join(roles), cluster_id=cluster_id, quorum_voters=voters,
                listeners=listeners, folder=self.folder / f"node-{node}",
                replication_factor=min(spec.brokers, 3), settings={**spec.settings, **racks.get(node, {})},
                heap=spec.heap, tuning=spec.tuning, features=spec.features,
            )  # fmt: skip

        return [node_spec(node) for node in dict.fromkeys([*controllers, *brokers])]

    def _ports(self, count: int) -> list[int]:
        """Those of an earlier run in the same folder, where clients look for the cluster, or free ones."""
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
            remembered.write_text(new_id())
        return remembered.read_text()


@contextmanager
def running_clusters(
    *specs: ClusterSpec, say: Callable[[str], None] = lambda _: None
) -> Iterator[list[EmbeddedCluster]]:
    """Several clusters started side by side, and stopped together, also when one of them cannot start."""
    with ExitStack() as on_exit:
        clusters: list[EmbeddedCluster] = []
        for spec in specs:
            clusters.append(EmbeddedCluster(spec))
            on_exit.callback(clusters[-1].stop)
        on_exit.callback(_begin_stop, clusters)
        for cluster in clusters:
            cluster.begin_start()
        for cluster in clusters:
            cluster.wait_until_ready()
            say(f"cluster {cluster.alias} is ready at {cluster.bootstrap_servers}")
        yield clusters


def _begin_stop(clusters: Sequence[EmbeddedCluster]) -> None:
    for cluster in clusters:
        cluster.begin_stop()
