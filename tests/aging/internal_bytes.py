"""What the internal topics of a flow hold, read from its target: the measure of `year`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import map_records
from heliograph.model import InternalTopics
from tests.aging.year import Shown

_FRAME = 80  # bytes of a record beside key and value, if compaction leaves it alone in its batch
_ENTRY_AND_MARKER = 2  # offsets that a transaction takes in the ledger


@dataclass(frozen=True)
class Beginning:
    """Where a measurement begins."""

    at: float
    commits: int
    journal_bytes: int


def begin(cluster: EmbeddedCluster, topics: InternalTopics) -> Beginning:
    """From here on commits and events are counted."""
    with _network(cluster, topics) as network:
        return Beginning(time.monotonic(), _commits(network, topics), _log_bytes(cluster, topics.journal))


def shown_since(beginning: Beginning, cluster: EmbeddedCluster, topics: InternalTopics) -> Shown:
    """What was written since then, and what all topics hold by now."""
    with _network(cluster, topics) as network:
        seconds = time.monotonic() - beginning.at
        all_commits = _commits(network, topics)
        pages = _newest(network, topics.offset_map)
        content = map_records.decode(pages)
        runs = sum(page.runs for of_pair in content.pages.values() for page in of_pair.values())
        positions, state = _newest(network, topics.offsets), _newest(network, topics.state)
    commits = all_commits - beginning.commits
    return Shown(
        seconds,
        commits,
        # The map also has the commits before the beginning: they are taken to be like the others.
        runs=round(runs * commits / all_commits),
        map_bytes=round(_size(pages) * commits / all_commits),
        position_bytes=_size(positions),
        state_bytes=_size(state),
        ledger_bytes_per_commit=_ledger_bytes_per_commit(cluster, topics.ledger, all_commits),
        journal_bytes=_log_bytes(cluster, topics.journal) - beginning.journal_bytes,
    )


@contextmanager
def _network(cluster: EmbeddedCluster, topics: InternalTopics) -> Iterator[Network]:
    with opened(Access(cluster.alias, [cluster.bootstrap_servers]), list(topics)) as (_, network):
        yield network


def _commits(network: Network, topics: InternalTopics) -> int:
    return int(reading.list_offsets(network, topics.ledger, {0: LATEST})[0]) // _ENTRY_AND_MARKER


def _newest(network: Network, topic: str) -> dict[bytes, bytes]:
    """What compaction leaves: the newest record of each key."""
    found: dict[bytes, bytes] = {}
    starts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), EARLIEST))
    for _, record in reading.read_to_end(network.loop, network, topic, starts):
        if record.value is None:
            found.pop(record.key or b"", None)
        else:
            found[record.key or b""] = record.value
    return found


def _size(records: dict[bytes, bytes]) -> int:
    return sum(len(key) + len(value) + _FRAME for key, value in records.items())


def _ledger_bytes_per_commit(cluster: EmbeddedCluster, topic: str, all_commits: int) -> float:
    """Of the segments that are still there; the first one is named after its first offset."""
    first = min(int(file.stem) for file in _logs(cluster, topic))
    return _log_bytes(cluster, topic) / max(1, all_commits - first // _ENTRY_AND_MARKER)


def _log_bytes(cluster: EmbeddedCluster, topic: str) -> int:
    return sum(file.stat().st_size for file in _logs(cluster, topic))


def _logs(cluster: EmbeddedCluster, topic: str) -> list[Path]:
    return list(cluster.brokers[0].spec.folder.glob(f"data/{topic}-*/*.log"))
