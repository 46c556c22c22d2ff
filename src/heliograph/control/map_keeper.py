"""Writes the offset map of a flow down, and takes from the ledger what the map has.

So whoever starts, translates, verifies or fails over reads pages and a short end of the ledger, never weeks of it; and
the ledger stays as small as what happens between two rounds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.engine.tables.appending import Appending, Stream, record_size
from heliograph.errors import BrokerRefused
from heliograph.kafka import reading
from heliograph.kafka.network import NOT_AUTHORISED, UNKNOWN_TOPIC, Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.kafka.trimming import trim
from heliograph.ledger import map_records
from heliograph.model import TopicPartition
from heliograph.sync.ledger_reader import LedgerReader

_INTERVAL = 60.0
_TIMEOUT_MS = 60_000
_KEPT_MS = 10 * 60 * 1000  # of the ledger: what our API shows of single transactions, and rates are counted from
_KEPT_OFFSETS = 10_000
_LOOK_AT_TARGETS_SECONDS = 600.0
_LZ4 = 3


class MapKeeper:
    """Keeps what is written down of the offset map in step with the ledger."""

    def __init__(
        self, flow: FlowDriver, ledger: LedgerReader, keeps_ms: int = _KEPT_MS, keeps_offsets: int = _KEPT_OFFSETS
    ) -> None:
        self._flow = flow
        self._ledger = ledger
        self._keeps_ms, self._keeps_offsets = keeps_ms, keeps_offsets
        self._where = TopicPartition(flow.settings.topics.offset_map, 0)
        self._looked_at_targets = float("-inf")

    def chore(self) -> Chore:
        """The keeping as periodic work; once more at the end, so that the next start has little to read."""
        return Chore("offset map", _INTERVAL, self.keep, delay=_INTERVAL, is_done_at_the_end=True)

    def keep(self) -> str:
        """Follow the ledger, write down what has changed, and then delete what is written down from the ledger."""
        topics = self._flow.settings.topics
        with opened(self._flow.settings.target, [topics.ledger, topics.offset_map]) as (loop, network):
            with self._ledger.lock:
                self._ledger.follow(loop, network)
                self._forget_what_is_gone(network)
                # What a round could not write is still there in the next one.
                self._ledger.unwritten |= self._ledger.offset_map.take_changes()
                changes, reached = dict(self._ledger.unwritten), self._ledger.reached
            if not changes:
                return ""
            assert reached is not None
            self._write(network, {**changes, map_records.reached_key(): map_records.encode_reached(reached)})
            self._ledger.unwritten.clear()
            return f"{len(changes)} records written{self._trim(network, reached.offset)}"

    def _forget_what_is_gone(self, network: Network) -> None:
        """Nobody asks for places of a topic that is gone, or before the first offset of one."""
        if time.monotonic() - self._looked_at_targets < _LOOK_AT_TARGETS_SECONDS:
            return
        offset_map, known = self._ledger.offset_map, self._ledger.offset_map.targets()
        failures = network.look_up({where.topic for where in known})
        gone = {topic for topic, code in failures.items() if code == UNKNOWN_TOPIC}
        offset_map.forget(lambda pair: pair.target.topic in gone)
        there = [where for where in known if where.topic not in failures and network.has_leader(*where)]
        offset_map.forget_before(reading.list_many(network, dict.fromkeys(there, EARLIEST)))
        self._looked_at_targets = time.monotonic()

    def _write(self, network: Network, changes: Mapping[bytes, bytes | None]) -> None:
        """In one transaction: half of it would not fit the other half. It also locks out a keeper before us."""
        producer = TransactionalProducer(network, f"heliograph-{self._flow.name}-map", _TIMEOUT_MS)
        appending = Appending(network.loop, network, producer)
        stream = Stream(appending.outgoing.partition(self._where), self._where, compression=_LZ4)
        now_ms = int(time.time() * 1000)
        for key, value in changes.items():
            record = Record(0, now_ms, key, value)
            appending.add(stream, record, record_size(record))
            appending.advance()
        appending.finish([stream])
        producer.end(commit=True)

    def _trim(self, network: Network, reached: int) -> str:
        """Leave the last minutes, and what a quiet flow has told last."""
        topic = self._flow.settings.topics.ledger
        end = reading.list_offsets(network, topic, {0: LATEST})[0]
        recent = reading.list_offsets(network, topic, {0: max(0, int(time.time() * 1000) - self._keeps_ms)})[0]
        before = min(reached, end - self._keeps_offsets, end if recent < 0 else recent)
        if before <= reading.list_offsets(network, topic, {0: EARLIEST})[0]:
            return ""
        try:
            trim(network, TopicPartition(topic, 0), before)
        except BrokerRefused as error:
            if error.code != NOT_AUTHORISED:
                raise
            return "; the ledger keeps what its retention allows, for we may not delete from it"
        return f"; the ledger begins at {before} now"
