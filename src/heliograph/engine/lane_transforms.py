"""The transforms of a lane: built once, and kept while its sessions come and go."""

from __future__ import annotations

import time

from heliograph.engine.collecting import collect_seldom
from heliograph.engine.outgoing import Outgoing
from heliograph.engine.target_topics import TargetTopics
from heliograph.engine.transformed_copy import TransformTools
from heliograph.engine.transforming import Transformer, TransformSettings, transformer_of
from heliograph.kafka.network import Network
from heliograph.model import Assignment, TopicPartition
from heliograph.transforms.formats.choice import RecordFormats


class LaneTransforms:
    """What becomes of the records of each topic, and how long those that fail have been tried."""

    def __init__(self, settings: TransformSettings) -> None:
        collect_seldom()
        self._settings = settings
        self._chain = settings.chain.build()
        self._keys = RecordFormats(settings.chain.formats, is_key=True)
        self._values = RecordFormats(settings.chain.formats, is_key=False)
        self._first_tries: dict[tuple[TopicPartition, int], float] = {}

    def transformer(self, assignment: Assignment) -> Transformer | None:
        """For the records of a partition; None if they all leave as they come."""
        return transformer_of(self._chain, assignment, self._keys, self._values)

    def tools(self, flow: str, target: Network, outgoing: Outgoing) -> TransformTools:
        """What the partitions of one session share."""
        topics = TargetTopics(target, outgoing, self._settings.replication_factor)
        return TransformTools(flow, self._settings, topics, self._may_wait, target.loop.before)

    def _may_wait(self, source: TopicPartition, offset: int) -> bool:
        """Whether a record that failed may be tried again. Each partition has at most one that is waited for."""
        limit = self._settings.retry_ms
        first = self._first_tries.get((source, offset))
        now = time.monotonic()
        if first is None:
            self._first_tries = {key: at for key, at in self._first_tries.items() if key[0] != source}
            first = self._first_tries[source, offset] = now
        return limit < 0 or (now - first) * 1000 < limit
