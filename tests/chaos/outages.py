"""Clusters whose brokers are killed and brought back."""

from __future__ import annotations

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster
from tests.waiting import wait_until

# A dead broker is missed after 4 s, and not only after 9.
SOON_MISSED = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}
_MISSED = "Fencing broker 1 "
_WELCOME = "request from broker 1 to unfence has been granted"


def one_mortal_broker(alias: str) -> ClusterSpec:
    """A single broker, with a controller apart that outlives it."""
    return ClusterSpec(alias, separate_controller=True, heap="256m", settings=SOON_MISSED)


def bring_back(cluster: EmbeddedCluster) -> None:
    """Start the only broker again if it was killed, as soon as its controller has missed it.

    A broker that is back sooner loses its partitions once more, and takes them for deleted if it has transactions to
    end there: those stay open for ever, and nobody who reads what is committed gets past them.
    """
    controller, broker = cluster.nodes

    def is_missed() -> bool:
        told = controller.log.read_text(errors="replace")
        return told.rfind(_MISSED) > told.rfind(_WELCOME)

    if not broker.process.is_running:
        wait_until(is_missed, f"the controller of {cluster.alias} to miss its broker", 60)
        broker.start()
        cluster.wait_until_ready()


def restart(cluster: EmbeddedCluster) -> None:
    """Kill the only broker and bring it back."""
    cluster.brokers[0].process.kill()
    bring_back(cluster)
