"""A log that was begun long ago: messages of formats 0 and 1, which brokers of today keep and give out, but never take.

So a partition's file is written while its broker is down.
"""

from __future__ import annotations

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition

_FIRST_SEGMENT = "00000000000000000000"


def plant(cluster: EmbeddedCluster, where: TopicPartition, content: bytes) -> None:
    """Make this the whole log of an empty partition of a cluster with one broker; it is started anew for that."""
    [broker] = cluster.brokers
    broker.stop()
    data = broker.spec.folder / "data"
    folder = data / str(where)
    for stale in (*folder.glob(f"{_FIRST_SEGMENT}.*index"), *folder.glob("*.snapshot")):
        stale.unlink()
    (folder / f"{_FIRST_SEGMENT}.log").write_bytes(content)
    (data / ".kafka_cleanshutdown").unlink(missing_ok=True)  # so that it looks at its logs when it starts
    cluster.start()
