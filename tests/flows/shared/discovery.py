"""Two flows of the shared mirror that face each other, and choose among topics that appear."""

from __future__ import annotations

from functools import partial

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.stage import admin_of, ends
from tests.waiting import wait_until
from tests.zoo import raw

ALIASES = ("riga", "bern")
FIRST = "find-first"
_CHOSEN = {
    "topics": r"(riga\\.|bern\\.)*find-.*",
    "topics.exclude": r".*-secret, .*[\\-\\.]internal, .*\\.replica, __.*",
}
OPTIONS = {f"{one}->{two}.{name}": text for one, two in (ALIASES, ALIASES[::-1]) for name, text in _CHOSEN.items()}


def create_first(riga: EmbeddedCluster, bern: EmbeddedCluster) -> None:
    """One topic that is there before the mirror, with a record: when it is mirrored, the mirror is at work."""
    for cluster in (riga, bern):
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic(FIRST, 1, 1)])
            admin.wait_for_topics({FIRST: 1})
        raw.append(cluster.bootstrap_servers, TopicPartition(FIRST, 0), [raw.batch_of([Record(0, 1, b"k", b"v")])])


def await_first(riga: EmbeddedCluster, bern: EmbeddedCluster, seconds: float) -> None:
    """Wait for the first records in both directions."""
    for cluster, copy in ((bern, f"riga.{FIRST}"), (riga, f"bern.{FIRST}")):
        wait_until(partial(_has_records, cluster, copy), f"records in {copy}", seconds, 0.2)


def _has_records(cluster: EmbeddedCluster, topic: str) -> bool:
    return any(ends(cluster, topic).values())
