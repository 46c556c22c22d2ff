"""Reads the committed batches of one partition between two offsets, always one answer ahead of whoever uses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from heliograph.errors import BrokerUnavailable
from heliograph.kafka import batches, fetching, records
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import Fetched, FetchLimits, FetchPoint, FetchSession
from heliograph.kafka.network import LEADER_CHANGES, Network, check
from heliograph.kafka.patience import Patience
from heliograph.kafka.reading import CommittedBatch, placed, why_silent
from heliograph.model import TopicPartition

_FETCH_BYTES = 4 * 1024 * 1024
_LEAST_BYTES = 64 * 1024
_PATIENCE_SECONDS = 30.0

Counts = Callable[[int], bool]  # whether batches of a producer count


class LogReader:
    """One partition of one cluster; asks for the next part of the log before the last one is used up.

    Two of them on the same loop read both sides of a comparison at the same time.
    """

    def __init__(
        self, loop: Loop, network: Network, where: TopicPartition, first: int, end: int, counts: Counts = lambda _: True
    ) -> None:
        self._loop = loop
        self._network = network
        self._where = where
        self._point = FetchPoint(where.topic, network.topic_id(where.topic), where.partition, first)
        self._end = end
        self._counts = counts
        self._aborted = AbortedTransactions()
        self._patience = Patience(_PATIENCE_SECONDS)
        self._buffers = [bytearray(), bytearray()]
        self._answers: list[Fetched | None] = []
        self._bytes_per_offset = 0.0
        self._heard_at = time.monotonic()
        if first < end:
            self._ask()

    def batches(self) -> Iterator[CommittedBatch]:
        """All committed batches; the first may begin before its start. Bytes are good until the next is asked for."""
        while self._point.offset < self._end:
            pieces = self._pieces(self._answer())
            if self._point.offset < self._end:
                self._ask()
            yield from pieces

    def _ask(self) -> None:
        """Send one request; its answer goes to the buffer that is not in use."""
        broker_id = self._network.leader(*self._where).broker_id
        connection = self._network.connection(broker_id)
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        limits = FetchLimits(max_wait_ms=100, max_bytes=self._wanted(), partition_max_bytes=self._wanted())
        session = FetchSession(version, limits, is_remembered=False)
        session.add(self._point)
        self._answers.clear()

        def answered(body: memoryview) -> None:
            result = session.decode(body)
            check(f"{self._network.access.alias} {self._where}", result.error_code)
            self._answers.append(next(iter(result.partitions), None))

        connection.send(fetching.API_KEY, session.version, True, [session.encode()], answered, self._memory)

    def _wanted(self) -> int:
        """No more than is probably left: what lies behind the end would be fetched in vain."""
        if not self._bytes_per_offset:
            return _FETCH_BYTES
        left = int((self._end - self._point.offset) * self._bytes_per_offset * 1.1)
        return max(_LEAST_BYTES, min(left, _FETCH_BYTES))

    def _memory(self, size: int) -> bytearray:
        self._buffers.reverse()
        if len(self._buffers[0]) < size:
            self._buffers[0] = bytearray(size)
        return self._buffers[0]

    def _answer(self) -> Fetched:
        while True:
            self._loop.run_until(lambda: bool(self._answers))
            fetched = self._answers[0]
            if fetched is not None and fetched.error_code not in LEADER_CHANGES:
                check(f"{self._network.access.alias} {self._where}", fetched.error_code)
                return fetched
            if not self._patience.wait():
                raise BrokerUnavailable(f"{self._network.access.alias} {self._where}: has no leader")
            self._network.refresh([self._where.topic])
            self._ask()

    def _pieces(self, fetched: Fetched) -> list[CommittedBatch]:
        self._aborted.announce(fetched.aborted)
        began, found = self._point.offset, []
        with placed(f"{self._network.access.alias} {self._where}"):
            for magic, batch in batches.split(fetched.records):
                header = records.header_of(magic, batch)
                if not self._aborted.hides(batch, header) and self._counts(header.producer_id):
                    found.append(CommittedBatch(self._where.partition, magic, header, batch))
                self._point.offset = max(self._point.offset, header.last_offset + 1)
        self._note(self._point.offset - began, fetched)
        return found

    def _note(self, offsets: int, fetched: Fetched) -> None:
        now = time.monotonic()
        if offsets:
            self._heard_at, self._bytes_per_offset = now, len(fetched.records) / offsets
        elif now - self._heard_at > _PATIENCE_SECONDS:
            raise why_silent(self._network.access.alias, self._point, [fetched])
