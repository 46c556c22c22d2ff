"""One line to a broker that a lane reads from: a fetch session, with buffers that are used again when they are free."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from heliograph.engine.links import AnswerSize
from heliograph.errors import ClusterError
from heliograph.kafka import fetching
from heliograph.kafka.connection import Connection
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchResult, FetchSession

_FAR_SECONDS = 0.02  # of a round trip: more than within a region
_BUFFERS, _FAR_BUFFERS = 3, 2  # a far broker has several lines
_HEADROOM = 64 * 1024
_ANSWER_SECONDS = 30  # until an answer begins
_LATE_SECONDS = 1.0  # longer than a broker that has nothing, or a line that is quick, takes to say so
_USUAL_TOTAL = 96 * 1024 * 1024
_LEAST_ANSWER = 256 * 1024
FAR_LINES = 3  # to one broker


class Shares:
    """What each answer may take of the memory that a lane has for answers: less where it reads from many brokers.

    A broker gives the first batch of an answer also if it is larger; nothing else goes beyond the total.
    """

    def __init__(self, limits: FetchLimits, total: int = 0) -> None:
        """`total`: bytes; by default enough for one far broker to send as much as the file says."""
        self._wanted = limits
        self._total = total or max(_USUAL_TOTAL, FAR_LINES * _FAR_BUFFERS * (limits.max_bytes + _HEADROOM))

    def among(self, buffers: int) -> FetchLimits:
        """The limits of each answer, where there are so many buffers."""
        share = max(_LEAST_ANSWER, self._total // buffers - _HEADROOM)
        return replace(self._wanted, max_bytes=min(self._wanted.max_bytes, share))


class FetchBuffer:
    """Memory for one response; busy while batches in it wait to be appended."""

    def __init__(self, usual_size: int) -> None:
        """It grows up to the usual size as responses do: a lane may read little from each of many brokers."""
        self._usual_size = usual_size
        self._memory = bytearray()
        self._waiting = 0
        self.is_filling = False

    @property
    def size(self) -> int:
        """The memory that it takes; more than usual after a batch that is larger, until that is appended."""
        return len(self._memory)

    @property
    def is_free(self) -> bool:
        """Whether a new response may overwrite the memory."""
        return not self._waiting and not self.is_filling

    def memory(self, size: int) -> bytearray:
        """Memory for a response of this size. One very large batch can exceed every limit that we asked for."""
        if len(self._memory) < size:
            self._memory = bytearray(max(size, min(2 * len(self._memory), self._usual_size)))
        return self._memory

    def hold(self, count: int) -> None:
        """So many batches in this buffer are on their way."""
        self._waiting += count

    def release(self) -> None:
        """One batch has been appended."""
        self._waiting -= 1
        self._shrink()

    def limit(self, usual_size: int) -> None:
        """Take no more memory than this, as soon as what is in it is done with."""
        self._usual_size = usual_size
        self._shrink()

    def looked_at(self) -> None:
        """The response has been dealt with; what of it is on its way still holds the memory."""
        self.is_filling = False
        self._shrink()

    def _shrink(self) -> None:
        if self.is_free and self.size > self._usual_size:
            self._memory = bytearray()


class Arrival(NamedTuple):
    """A response that waits to be looked at, in the buffer it came in."""

    broker: SourceBroker
    result: FetchResult
    buffer: FetchBuffer

    @property
    def size(self) -> int:
        """The bytes of records in it."""
        return sum(len(fetched.records) for fetched in self.result.partitions)


class Pace:
    """The bandwidth of a lane, which all that it reads from share; 0: as much as there is."""

    def __init__(self, bytes_per_second: float = 0.0) -> None:
        self._bytes_per_second = bytes_per_second
        self._not_before = 0.0

    def allows(self, now: float) -> bool:
        """Whether what was read so far is paid for."""
        return now >= self._not_before

    def spend(self, size: int, now: float) -> None:
        """So much has been read."""
        if self._bytes_per_second:
            self._not_before = max(self._not_before, now) + size / self._bytes_per_second


class SourceBroker:
    """Fetches from one broker over one connection: one request at a time, as long as a buffer is free."""

    def __init__(
        self,
        broker_id: int,
        connection: Connection,
        limits: FetchLimits,
        arrivals: deque[Arrival],
        pace: Pace,
        answer_size: AnswerSize,
    ) -> None:
        self.broker_id = broker_id
        self.is_lost = False
        self.is_far = connection.round_trip > _FAR_SECONDS
        self._connection = connection
        self._pace = pace
        self._answer_size = answer_size
        self._granted = limits
        self._asked_at = math.inf  # unless no answer is awaited
        self._not_before = 0.0
        self._arrivals = arrivals
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        self.session = FetchSession(version, limits)
        buffers = _FAR_BUFFERS if self.is_far else _BUFFERS
        self.buffers: Sequence[FetchBuffer] = [FetchBuffer(limits.max_bytes + _HEADROOM) for _ in range(buffers)]
        self._is_busy = False
        self._had_much = False

    def limit(self, limits: FetchLimits) -> None:
        """Ask for so much from now on, or for what the line can bring."""
        self._granted = limits
        for buffer in self.buffers:
            buffer.limit(limits.max_bytes + _HEADROOM)

    @property
    def is_full(self) -> bool:
        """Whether the broker sends so much that the way of requests counts, and another line could help."""
        return self.is_far and self._had_much and not self._is_busy and len(self.session) > 1

    @property
    def name(self) -> str:
        """What to call the broker."""
        return self._connection.name

    @property
    def is_asked(self) -> bool:
        """Whether an answer is awaited."""
        return self._asked_at < math.inf

    @property
    def is_late(self) -> bool:
        """Whether an answer takes longer than the broker may wait for something to tell: the line is slow, or dead."""
        return time.monotonic() - self._asked_at > self._granted.max_wait_ms / 1000 + _LATE_SECONDS

    def fetch(self) -> None:
        """Ask for more, unless an answer is awaited or not looked at yet, it is too early, or no buffer is free."""
        now = time.monotonic()
        if self._is_busy or not len(self.session) or now < self._not_before or not self._pace.allows(now):
            return
        buffer = next((buffer for buffer in self.buffers if buffer.is_free), None)
        if buffer is None:
            return
        self._is_busy = buffer.is_filling = True
        self._asked_at = now
        session, granted = self.session, self._granted
        session.limits = replace(granted, max_bytes=min(granted.max_bytes, self._answer_size.most))
        patience = granted.max_wait_ms / 1000 + _ANSWER_SECONDS
        self._connection.send(
            fetching.API_KEY,
            session.version,
            True,
            [session.encode()],
            lambda body: self._answered(body, buffer),
            buffer.memory,
            patience,
            self._lost,
        )

    def _answered(self, body: memoryview, buffer: FetchBuffer) -> None:
        seconds, self._asked_at = time.monotonic() - self._asked_at, math.inf
        moving = seconds - self._granted.max_wait_ms / 1000  # the broker may have waited for more before
        self._answer_size.answered(len(body), max(0.0, moving), self._granted.max_bytes)
        self._arrivals.append(Arrival(self, self.session.decode(body), buffer))

    def reads(self, point: FetchPoint) -> bool:
        """Whether a partition is still read over this line; what it answers is of no use to whoever reads elsewhere."""
        return not self.is_lost and point in self.session

    def looked_at(self, arrival: Arrival) -> None:
        """A response has been dealt with: positions have moved, so the next request can be made when it is time."""
        self._is_busy = False
        arrival.buffer.looked_at()
        now = time.monotonic()
        self._not_before = now + arrival.result.throttle_ms / 1000  # the broker's wish
        size = arrival.size
        self._pace.spend(size, now)
        limits = self._granted  # who cannot bring so much gains nothing by another line
        most = min(limits.max_bytes, len(self.session) * limits.partition_max_bytes)
        self._had_much = 2 * size >= most

    def _lost(self, _: ClusterError) -> None:
        self.is_lost = True
