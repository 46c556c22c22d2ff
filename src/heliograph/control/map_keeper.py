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
from heliograph.ledger import entries, map_records
from heliograph.ledger.entries import Owner
from heliograph.ledger.map_records import Reached
from heliograph.model import TopicPartition
from heliograph.sync.ledger_reader import LedgerReader

_INTERVAL = 60.0
_TIMEOUT_MS = 60_000
_PART_BYTES = 512 * 1024
_KEPT_MS = 10 * 60 * 1000  # of the ledger: what our API shows of single transactions, and rates are counted from
_KEPT_OFFSETS = 10_000
_LOOK_AT_TARGETS_SECONDS = 600.0
_LZ4 = 3

_Changes = Mapping[bytes, bytes | None]


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
        with opened(self._flow.settings.target, [topics.ledger, topics.offset_map, topics.state]) as (_, network):
            while self._is_ours(network):
                with self._ledger.lock:
                    self._ledger.follow(network.loop, network)
                    self._forget_what_is_gone(network)
                    # What a round could not write is still there in the next one.
                    self._ledger.unwritten |= self._ledger.offset_map.take_changes()
                    changes, reached = dict(self._ledger.unwritten), self._ledger.reached
                if not changes:
                    return ""
                assert reached is not None
                producer = TransactionalProducer(network, f"heliograph-{self._flow.name}-map", _TIMEOUT_MS)
                if self._may_write(network):
                    self._write(network, producer, changes, reached)
                    self._await_visible(network)
                    return f"{len(changes)} records written{self._trim(network, reached.offset)}"
            return "the flow belongs to another mirror by now"

    def _may_write(self, network: Network) -> bool:
        """Whether what we know is still the newest, now that whoever wrote the map before us is locked out.

        We may have been frozen for long. Whoever was the owner meanwhile may have written the map, and deleted from the
        ledger what we know nothing of.
        """
        if not self._is_ours(network):
            return False
        start = {0: self._ledger.written_to}
        if not any(reading.read_to_end(network.loop, network, self._where.topic, start)):
            return True
        with self._ledger.lock:
            self._ledger.start_over()
        return False

    def _is_ours(self, network: Network) -> bool:
        """Whether nobody else has taken the flow over, or closed it."""
        owner = newest = self._flow.owner
        start = {0: self._flow.owned_from}
        for _, record in reading.read_to_end(network.loop, network, self._flow.settings.topics.state, start):
            told = entries.decode(record.value)
            if isinstance(told, Owner):
                newest = told.name
        return newest == owner

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

    def _write(self, network: Network, producer: TransactionalProducer, changes: _Changes, reached: Reached) -> None:
        """In parts, for each transaction must end in time however slow the link is; only the last one makes it whole.

        What others have read up to there is written before it is complete. So they must know which source partitions
        are further than the others: they read the ledger again for these.
        """
        ledger, told = self._ledger, map_records.encode_reached(reached)
        *first, last = _parts(changes, is_divisible=not ledger.is_written)
        for part in first:
            ahead = {map_records.ahead_key(map_records.source_of(key)) for key in part} if ledger.is_written else set()
            ledger.ahead_keys |= ahead  # first: it may be committed although we are told that it is not
            self._commit(network, producer, {**part, **dict.fromkeys(ahead, told)})
        self._commit(network, producer, {**last, **dict.fromkeys(ledger.ahead_keys), map_records.reached_key(): told})
        ledger.is_written = True
        ledger.ahead_keys.clear()

    def _commit(self, network: Network, producer: TransactionalProducer, changes: _Changes) -> None:
        """In one transaction: half of it would not fit the other half."""
        places: list[int] = []
        appending = Appending(network.loop, network, producer)
        stream = Stream(
            appending.outgoing.partition(self._where),
            self._where,
            on_appended=lambda records, base, _: places.append(base + len(records)),
            compression=_LZ4,
        )
        now_ms = int(time.time() * 1000)
        for key, value in changes.items():
            record = Record(0, now_ms, key, value)
            appending.add(stream, record, record_size(record))
            appending.advance()
        appending.finish([stream])
        producer.end(commit=True)
        with self._ledger.lock:
            self._ledger.written_to = max(self._ledger.written_to, *places)
            for key in changes:
                self._ledger.unwritten.pop(key, None)

    def _await_visible(self, network: Network) -> None:
        """Nobody may find a ledger that is cut, and not yet the map that has the rest: markers come a little later."""
        last = {0: self._ledger.written_to - 1}
        for _ in reading.read_to_end(network.loop, network, self._where.topic, last):
            pass

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


def _parts(changes: _Changes, is_divisible: bool) -> list[_Changes]:
    """Changes in parts that can be written in time. What is about one source partition belongs together.

    Not so in a map that nobody reads before it is whole.
    """
    groups: dict[object, dict[bytes, bytes | None]] = {}
    for key, value in changes.items():
        groups.setdefault(key if is_divisible else map_records.source_of(key), {})[key] = value
    parts: list[dict[bytes, bytes | None]] = [{}]
    size = 0
    for group in groups.values():
        more = sum(len(key) + len(value or b"") for key, value in group.items())
        if size and size + more > _PART_BYTES:
            parts.append({})
            size = 0
        parts[-1] |= group
        size += more
    return list(parts)
