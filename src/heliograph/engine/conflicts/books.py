"""What detection has written down on its cluster: who does it, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Collection

from heliograph.conflicts import decision
from heliograph.engine.conflicts.progress import KnownProgress, owner_record
from heliograph.engine.conflicts.settings import DetectionSettings
from heliograph.errors import TakenOver
from heliograph.kafka import reading, writing
from heliograph.kafka.admin import Admin
from heliograph.kafka.leftovers import check_reached, end_leftovers
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.transaction import take_all
from heliograph.model import TopicPartition

_FENCE_TIMEOUT_MS = 15_000


class DetectionBooks:
    """Of one cluster."""

    def __init__(self, settings: DetectionSettings) -> None:
        self._settings = settings
        self._read_to = 0

    def take_over(self, owner: str, views: Collection[str]) -> KnownProgress:
        """Lock out whoever did it before, and read how far that one came. The order is the guarantee."""
        self._announce(owner)
        prefix = self._settings.id_prefix
        with Admin(self._settings.access) as admin:
            ids = {name for name in admin.transactional_ids(prefix) if name.removeprefix(prefix).isdecimal()}
        ids |= {f"{prefix}{task}" for task in range(self._settings.tasks)}
        topics = {decision.TOPIC, self._settings.progress_topic, *views}
        with opened(self._settings.access, topics) as (loop, network):
            producers = take_all(network, sorted(ids), _FENCE_TIMEOUT_MS)
            written = {TopicPartition(topic, number) for topic in topics for number in network.partitions(topic)}
            check_reached(network, end_leftovers(network, producers, written).unreachable, written)
            first = reading.list_offsets(network, self._settings.progress_topic, {0: EARLIEST})
            with reading.placed(self._place):
                return KnownProgress(
                    record for _, record in reading.read_to_end(loop, network, self._settings.progress_topic, first)
                )

    def confirm_owner(self, owner: str) -> None:
        """Raise if somebody else has taken over by now."""
        with opened(self._settings.access, [self._settings.progress_topic]) as (loop, network):
            known = KnownProgress()
            for _, record in reading.read_to_end(loop, network, self._settings.progress_topic, {0: self._read_to}):
                with reading.placed(self._place):
                    known.add(record)
                self._read_to = record.offset
        if known.owner not in ("", owner):
            raise TakenOver(f"{self._settings.name} now belongs to {known.owner}; this mirror ({owner}) stops")

    @property
    def _place(self) -> str:
        return f"{self._settings.alias} {self._settings.progress_topic}-0"

    def _announce(self, owner: str) -> None:
        record = owner_record(owner, int(time.time() * 1000))
        with opened(self._settings.access, [self._settings.progress_topic]) as (loop, network):
            self._read_to = writing.append(loop, network, TopicPartition(self._settings.progress_topic, 0), [record])
