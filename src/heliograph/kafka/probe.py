"""Is a cluster there? A short question that fails quickly."""

from __future__ import annotations

from kafka.protocol.metadata import MetadataRequest

from heliograph.errors import ClusterError
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Connection, Loop


def count_brokers(address: str, timeout_ms: int = 2000) -> int:
    """How many brokers the one at this address knows of, itself included; 0 when it does not answer in time."""
    host, port = address.rsplit(":", 1)
    loop = Loop()
    try:
        connection = Connection(
            loop, host.strip("[]"), int(port), Access("probe", [address], request_timeout_ms=timeout_ms)
        )
        return len(connection.call(MetadataRequest(topics=[]), connection.version(MetadataRequest, highest=9)).brokers)
    except ClusterError:
        return 0
    finally:
        loop.close()
