"""One broker that a lane reads from: a fetch session, with buffers that are used again when they are free."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from heliograph.errors import ClusterError
from heliograph.kafka import fetching
from heliograph.kafka.connection import Connection
from heliograph.kafka.fetching import FetchLimits, FetchResult, FetchSession

_BUFFERS = 3
_HEADROOM = 64 * 1024
_ANSWER_SECONDS = 30


class FetchBuffer:
    """Memory for one response; busy while batches in it wait to be appended."""

    def __init__(self, size: int) -> None:
        self._memory = bytearray(size)
        self._waiting = 0
        self.is_filling = False

    @property
    def is_free(self) -> bool:
        """Whether a new response may overwrite the memory."""
        return not self._waiting and not self.is_filling

    def memory(self, size: int) -> bytearray:
        """Memory for a response of this size. One very large batch can exceed every limit that we asked for."""
        if len(self._memory) < size:
            self._memory = bytearray(size)
        return self._memory

    def hold(self, count: int) -> None:
        """So many batches in this buffer are on their way."""
        self._waiting += count

    def release(self) -> None:
        """One batch has been appended."""
        self._waiting -= 1


class Arrival(NamedTuple):
    """A response that waits to be looked at, in the buffer it came in."""

    broker: SourceBroker
    result: FetchResult
    buffer: FetchBuffer


class SourceBroker:
    """Fetches from one broker: one request at a time, as long as a buffer is free."""

    def __init__(
        self,
        broker_id: int,
        connection: Connection,
        limits: FetchLimits,
        arrivals: deque[Arrival],
        bytes_per_second: float = 0.0,
    ) -> None:
        self.broker_id = broker_id
        self.is_lost = False
        self._connection = connection
        self._bytes_per_second = bytes_per_second
        self._not_before = 0.0
        self._arrivals = arrivals
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        self.session = FetchSession(version, limits)
        self._limits = limits
        self._buffers = [FetchBuffer(limits.max_bytes + _HEADROOM) for _ in range(_BUFFERS)]
        self._is_busy = False

    def fetch(self) -> None:
        """Ask for more, unless an answer is awaited or not looked at yet, it is too early, or no buffer is free."""
        if self._is_busy or not len(self.session) or time.monotonic() < self._not_before:
            return
        buffer = next((buffer for buffer in self._buffers if buffer.is_free), None)
        if buffer is None:
            return
        self._is_busy = buffer.is_filling = True
        session = self.session
        patience = self._limits.max_wait_ms / 1000 + _ANSWER_SECONDS
        self._connection.send(
            fetching.API_KEY,
            session.version,
            True,
            [session.encode()],
            lambda body: self._arrivals.append(Arrival(self, session.decode(body), buffer)),
            buffer.memory,
            patience,
            self._lost,
        )

    def looked_at(self, arrival: Arrival) -> None:
        """A response has been dealt with: positions have moved, so the next request can be made when it is time."""
        self._is_busy = arrival.buffer.is_filling = False
        now = time.monotonic()
        pause = arrival.result.throttle_ms / 1000  # the broker's wish
        if self._bytes_per_second:
            size = sum(len(fetched.records) for fetched in arrival.result.partitions)
            pause = max(pause, max(self._not_before - now, 0.0) + size / self._bytes_per_second)
        self._not_before = now + pause

    def _lost(self, _: ClusterError) -> None:
        self.is_lost = True
