"""Logs that brokers keep and give out, but would never take: their files are written beside them.

Such are those that were begun long ago, with messages of formats 0 and 1, and those that a disk has damaged.
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


def damage(cluster: EmbeddedCluster, where: TopicPartition, before: bytes, after: bytes) -> None:
    """Put other bytes in the place of some that stand once in a partition's log, under the hands of its broker."""
    assert len(before) == len(after)
    [broker] = cluster.brokers
    segments = (broker.spec.folder / "data" / str(where)).glob("*.log")
    [(log, content)] = [(log, content) for log in segments if before in (content := log.read_bytes())]
    assert content.count(before) == 1
    with log.open("r+b") as file:
        file.seek(content.index(before))
        file.write(after)
