"""A cluster behind a long link: what share of the link one lane uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.measure import CatchUp
from bench.wan_relay import Link, relayed
from bench.workloads import Workload
from heliograph.embedded.broker import Listener
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.jvm import PEAK_SPEED
from heliograph.embedded.ports import free_ports

MUST_SHARE = 0.8
MEGABITS = 200
ROUND_TRIPS_MS = (100, 200)
ORDERS = Workload("w", "8 partitions, uncompressed, 1 kB", "orders-far", 8, 400_000, 1024, "none", 65536)
_LISTENER = "WAN"


@dataclass(frozen=True)
class FarCluster:
    """Which of the clusters is far, and how far."""

    alias: str
    link: Link

    def __str__(self) -> str:
        side = {"primary": "source", "backup": "target"}[self.alias]
        return f"{side} {self.link.round_trip_seconds * 1000:.0f} ms away"

    @contextmanager
    def clusters(self) -> Iterator[list[EmbeddedCluster]]:
        """Both clusters, one of which also has an address behind the link."""
        port, relay_port = free_ports(2)
        far = Listener(_LISTENER, port=port, advertised=f"127.0.0.1:{relay_port}")
        specs = [
            ClusterSpec(alias, heap="1g", tuning=PEAK_SPEED, listeners=[far] if alias == self.alias else [])
            for alias in ("primary", "backup")
        ]
        with running_clusters(*specs) as clusters, relayed(self.link, {relay_port: port}):
            yield clusters

    def settings(self, clusters: list[EmbeddedCluster]) -> dict[str, str]:
        """What leads a mirror over the link."""
        [cluster] = [cluster for cluster in clusters if cluster.alias == self.alias]
        return {f"{self.alias}.bootstrap.servers": cluster.addresses(_LISTENER)}

    def share(self, copied: CatchUp, gigabytes: float) -> float:
        """How much of the link's bandwidth was used."""
        bytes_per_record = gigabytes * 1e9 / ORDERS.records
        return copied.records_per_second * bytes_per_record / self.link.bytes_per_second


FAR_CLUSTERS = tuple(
    FarCluster(alias, Link.of(round_trip, MEGABITS)) for alias in ("primary", "backup") for round_trip in ROUND_TRIPS_MS
)
