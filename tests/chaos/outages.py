"""Clusters whose brokers are killed and brought back."""

from __future__ import annotations

from heliograph.embedded.cluster import EmbeddedCluster

# A dead broker is missed after 4 s, and not only after 9. Until then it is not let back in either.
SOON_MISSED = {"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500"}


def bring_back(cluster: EmbeddedCluster, seconds: float = 60) -> None:
    """Start all brokers that are dead, and wait for them."""
    for broker in cluster.brokers:
        if not broker.process.is_running:
            broker.start()
    cluster.wait_until_ready(seconds)


def restart(cluster: EmbeddedCluster) -> None:
    """Kill the first broker, and bring it back at once.

    If it is the only one it finds itself without partitions for a moment, and forgets to tell them how transactions
    have ended: what is open then stays so, unless the mirror itself puts it right.
    """
    cluster.brokers[0].process.kill()
    bring_back(cluster)
