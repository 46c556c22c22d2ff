"""The data: made once for a run, by Kafka's own producer tool, and the same for both rivals."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.jars import fetch_jars
from heliograph.java import ensure_java
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic


@dataclass(frozen=True)
class Workload:
    """Records that wait on the source to be caught up on."""

    letter: str
    title: str
    topic: str
    partitions: int
    records: int
    record_bytes: int
    codec: str
    batch_bytes: int

    def prepare(self, source: EmbeddedCluster, folder: Path) -> None:
        """Create the topic and fill it."""
        self._produce(source, self.topic, self.records, folder)

    def warm_up(self, target: EmbeddedCluster, folder: Path) -> None:
        """Let the target's broker handle some of the same data: one that has just started is several times slower."""
        self._produce(target, "warm-up", self.records // 2, folder)

    def _produce(self, cluster: EmbeddedCluster, topic: str, records: int, folder: Path) -> None:
        with Admin(Access(cluster.alias, [cluster.bootstrap_servers])) as admin:
            admin.create_topics([NewTopic(topic, self.partitions, 1, {})])
        payload = _payload(folder / f"{self.letter}.payload", self.record_bytes)
        properties = [
            f"bootstrap.servers={cluster.bootstrap_servers}", f"compression.type={self.codec}",
            f"batch.size={self.batch_bytes}", f"linger.ms={0 if self.batch_bytes == 1 else 50}",
            "buffer.memory=134217728", "max.in.flight.requests.per.connection=5",
        ]  # fmt: skip
        command = [
            str(ensure_java()), "-Xmx1g", "-cp", f"{fetch_jars()}/*", "org.apache.kafka.tools.ProducerPerformance",
            "--topic", topic, "--num-records", str(records), "--throughput", "-1",
            "--payload-file", str(payload), "--producer-props", *properties,
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _payload(path: Path, size: int) -> Path:
    """Orders as JSON, a few thousand different ones, of about the size."""
    chance = random.Random(1)
    lines = [_order(chance, number, size) for number in range(20_000)]
    path.write_text("\n".join(lines))
    return path


def _order(chance: random.Random, number: int, size: int) -> str:
    order = {
        "order_id": number,
        "customer": f"customer-{chance.randrange(1_000_000)}",
        "email": f"{chance.randbytes(6).hex()}@example.org",
        "amount": round(chance.random() * 1000, 2),
        "currency": chance.choice(["EUR", "USD", "JPY"]),
        "items": [{"sku": chance.randbytes(5).hex(), "quantity": chance.randrange(1, 9)} for _ in range(3)],
        "note": "",
    }
    missing = size - len(json.dumps(order))
    order["note"] = chance.randbytes(max(0, missing) // 4).hex() + "." * (max(0, missing) - max(0, missing) // 4 * 2)
    return json.dumps(order)


CATCH_UP = Workload("a", "catch-up, lz4, 64 kB batches", "orders-lz4", 4, 3_000_000, 370, "lz4", 65536)
TINY = Workload("b", "one-record batches", "orders-tiny", 4, 400_000, 370, "none", 1)
PLAIN = Workload("c", "uncompressed, 1 kB", "orders-plain", 4, 1_000_000, 1024, "none", 65536)
