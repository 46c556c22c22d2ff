"""Writes MirrorMaker 2's offset syncs, for those who translate offsets by them; we translate by the ledger."""

from __future__ import annotations

import threading

from heliograph.config.flow import FlowConfig
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import LedgerEntry, TopicPartition
from heliograph.sync.compacted_topic import CompactedTopic
from heliograph.sync.offset_syncs import OffsetSyncEmitter


class OffsetSyncWriter(Closeable):
    """Is told of every transaction of a flow, and writes now and then which syncs came of them.

    The topic lies on the cluster that the file asks for, and carries the name of the other one.
    """

    def __init__(self, flow: FlowConfig) -> None:
        is_on_source = flow.get("offset-syncs.topic.location") == "source"
        cluster, other = (flow.source, flow.target) if is_on_source else (flow.target, flow.source)
        name = flow.replication_policy.offset_syncs_topic(other.alias)
        self._topic = CompactedTopic(flow, cluster, name, "offset-syncs.topic.replication.factor")
        self._emitter = OffsetSyncEmitter(flow.number("offset.lag.max"))
        self._unwritten: dict[TopicPartition, OffsetSync] = {}
        self._lock = threading.Lock()

    def mirrored(self, entry: LedgerEntry) -> None:
        """Take note of a transaction; from any thread."""
        with self._lock:
            for progress in entry.own_progress():
                for run in progress.runs:
                    self._emitter.mirrored(progress.source, run)

    def run(self) -> str:
        """Write what is due; what could not be written is tried again with the next."""
        with self._lock:
            self._unwritten |= {sync.source: sync for sync in self._emitter.take_all()}
        self._topic.create()
        taken = dict(self._unwritten)
        self._topic.append(list(taken.values()))
        self._unwritten.clear()
        return f"{len(taken)} written" if taken else ""

    def close(self) -> None:
        """Hang up."""
        self._topic.close()
