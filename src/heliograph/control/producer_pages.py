"""Packs the producer ids that lanes have announced: each has a record of its own, until many of them make a page.

Without transactions, which would hold up every lane that looks for the owner of its flow. A page is safe before the
records go that it stands for, and it never changes. So whoever does this too, or for a flow that is no longer his,
loses nothing.
"""

from __future__ import annotations

import time
from itertools import islice

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import writing
from heliograph.kafka.network import opened
from heliograph.ledger import entries
from heliograph.ledger.writers import KnownWriters
from heliograph.model import TopicPartition

_INTERVAL = 600.0
_AT_ONCE = 5_000  # records that are removed


class ProducerPages:
    """Keeps the state of a flow small."""

    def __init__(self, flow: FlowDriver, least: int = entries.PAGE_IDS) -> None:
        self._flow = flow
        self._least = least
        self._where = TopicPartition(flow.settings.topics.state, 0)

    def chore(self) -> Chore:
        """The packing as periodic work."""
        return Chore("producer ids", _INTERVAL, self.pack)

    def pack(self) -> str:
        """Write pages for the ids that have records of their own, if there are enough, and then remove these."""
        with opened(self._flow.settings.target, [self._where.topic]) as (loop, network):
            known = KnownWriters()  # not what the process knows: a page must be there now, not once
            known.follow(loop, network, self._where.topic)
            if len(known.single) < self._least:
                return ""
            now_ms = int(time.time() * 1000)
            for page in entries.producer_pages(known.single - known.packed_single, now_ms):
                writing.append(loop, network, self._where, [page])
            packed = iter(sorted(known.single))
            while some := [entries.packed_producer_record(number, now_ms) for number in islice(packed, _AT_ONCE)]:
                writing.append(loop, network, self._where, some)
            return f"{len(known.single)} producer ids packed"
