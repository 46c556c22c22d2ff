"""How long heartbeats take from the source to the target.

A mirrored heartbeat keeps the time at which it was written on the source, so that no record on the target tells when it
arrived there. Therefore the end of the topic is watched until one arrives, and the clock is read at that moment.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from itertools import pairwise

from heliograph.kafka import reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.monitor.look import Latency, LatencyMethod

_READ_BACK = 100  # offsets; the markers of transactions take up some of them
_KEPT = 10
_LOOK_SECONDS = 0.01
_USUAL_GAP_MS = 1_000
_LONGEST_WATCH_SECONDS = 4.0


def read_latency(access: Access, topic: str) -> Latency | None:
    """Watch for a little more than the usual time between two heartbeats; None when there are none at all."""
    with opened(access, [topic]) as (loop, network):
        watch = _Watch(loop, network, topic)
        seen = sorted(watch.recent())[-_KEPT:]
        if not seen:
            return None
        deadline = time.monotonic() + watch_seconds(seen)
        while time.monotonic() < deadline:
            arrived = watch.arrived()
            if arrived:
                return latency_of(max(arrived), _now_ms(), LatencyMethod.ARRIVAL)
            time.sleep(_LOOK_SECONDS)
        return latency_of(seen[-1], _now_ms(), LatencyMethod.AGE)


def watch_seconds(times_ms: list[int]) -> float:
    """How long to wait for the next heartbeat, given the times of some, in order."""
    gaps = [later - earlier for earlier, later in pairwise(times_ms)]
    usual = statistics.median(gaps) if gaps else _USUAL_GAP_MS
    return min(_LONGEST_WATCH_SECONDS, 0.5 + 1.5 * usual / 1000)


def latency_of(heartbeat_ms: int, now_ms: int, method: LatencyMethod) -> Latency:
    """The time since a heartbeat was written; clocks that disagree make it 0 at worst."""
    return Latency(max(0, now_ms - heartbeat_ms), method)


class _Watch:
    """The end of a heartbeats topic."""

    def __init__(self, loop: Loop, network: Network, topic: str) -> None:
        self._loop = loop
        self._network = network
        self._topic = topic
        self._ends = self._current_ends()

    def recent(self) -> list[int]:
        """The times of the last heartbeats before the watch began."""
        firsts = reading.list_offsets(self._network, self._topic, dict.fromkeys(self._ends, EARLIEST))
        starts = {number: max(firsts[number], end - _READ_BACK) for number, end in self._ends.items()}
        return self._times(starts, self._ends)

    def arrived(self) -> list[int]:
        """The times of the heartbeats that have come since the last call."""
        starts, self._ends = self._ends, self._current_ends()
        return self._times(starts, self._ends) if starts != self._ends else []

    def _current_ends(self) -> dict[int, int]:
        numbers = self._network.partitions(self._topic)
        return reading.list_offsets(self._network, self._topic, dict.fromkeys(numbers, LATEST), READ_COMMITTED)

    def _times(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> list[int]:
        return [
            Heartbeat.decode(record.key, record.value).timestamp_ms
            for batch in reading.read_batches(self._loop, self._network, self._topic, starts, ends)
            for record in records.decode(batch.magic, batch.data)
            if record.offset >= starts[batch.partition]
        ]


def _now_ms() -> int:
    return int(time.time() * 1000)
