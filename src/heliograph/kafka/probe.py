"""Is a cluster there? A short question that fails quickly."""

from __future__ import annotations

import logging
import socket

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError


def count_brokers(bootstrap_servers: str, timeout_ms: int = 2000) -> int:
    """How many brokers the cluster's metadata names; 0 when nobody answers in time."""
    if not _accepts_connections(bootstrap_servers):
        return 0
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        with KafkaAdminClient(bootstrap_servers=bootstrap_servers, bootstrap_timeout_ms=timeout_ms) as admin:
            return len(admin.describe_cluster()["brokers"])
    except (KafkaError, OSError):
        return 0


def _accepts_connections(bootstrap_servers: str) -> bool:
    host, port = bootstrap_servers.split(",")[0].rsplit(":", 1)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=1):
            return True
    except OSError:
        return False
