"""Topics made for one test each."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from itertools import count

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.errors import ClusterError
from heliograph.kafka import reading
from heliograph.kafka.patience import Patience
from tests.zoo import raw

_numbers = count(1)

# Records of any time stay: brokers refuse those from the future and delete those from the past, unless told otherwise.
_ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}


def fresh_name(prefix: str) -> str:
    """A topic name that no other test uses."""
    return f"{prefix}-{next(_numbers)}"


def create_topic(
    bootstrap_servers: str, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None
) -> str:
    """A new topic, ready to be used; returns its name."""
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs=_ANY_TIME | dict(settings or {}))])
    await_leaders(bootstrap_servers, name, partitions)
    return name


def await_leaders(bootstrap_servers: str, name: str, partitions: int) -> None:
    """Wait until the brokers serve all partitions, and each of them knows that."""
    patience = Patience()
    for server in bootstrap_servers.split(","):
        while not _is_served(server, name, partitions):
            assert patience.wait(), f"topic {name} never got ready"


def _is_served(bootstrap_servers: str, name: str, partitions: int) -> bool:
    try:
        with raw.network(bootstrap_servers, name) as (_, network):
            reading.list_offsets(network, name, dict.fromkeys(range(partitions), reading.LATEST))
    except ClusterError:
        return False
    return True
