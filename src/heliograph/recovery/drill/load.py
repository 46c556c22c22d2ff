"""The load of a drill: numbered records, of which every acknowledged one is remembered."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from heliograph.errors import ClusterError
from heliograph.kafka.access import Access
from heliograph.kafka.records import Record
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition

_ROUNDS_PER_SECOND = 20
_FILLING = b"." * 100


@dataclass(frozen=True)
class Acked:
    """One record that its cluster has acknowledged."""

    where: TopicPartition
    offset: int
    at_ms: int


class CanaryLoad:
    """Writes to partitions in turn, in a thread; ends by itself when the cluster is gone.

    Nothing is written a second time: so a number stands for one record, and an outcome that stays unknown for a number
    that nobody may count on.
    """

    def __init__(
        self, access: Access, partitions: Sequence[TopicPartition], per_second: int, first_number: int = 0
    ) -> None:
        self._access = access
        self._partitions = partitions
        self._per_round = max(1, per_second // _ROUNDS_PER_SECOND)
        self._next = first_number
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drill load", daemon=True)
        self.acked: dict[int, Acked] = {}
        self.failure: ClusterError | None = None

    @property
    def next_number(self) -> int:
        """The number that no record has yet."""
        return self._next

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def write_once(self) -> None:
        """One record for each partition, at once."""
        with closing(Writer(self._access)) as writer:
            for where in self._partitions:
                self._write(writer, where, 1)

    def cut(self) -> None:
        """No further round begins; one may be under way."""
        self._stopping.set()

    def await_end(self, seconds: float) -> None:
        """Wait until it has noticed that it was cut, or that the cluster is gone."""
        self._thread.join(seconds)

    def stop(self) -> None:
        """Cut it, and wait for the round that is under way."""
        self.cut()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        with closing(Writer(self._access)) as writer:
            rounds = 0
            while not self._stopping.wait(max(0.0, due - time.monotonic())):
                due += 1 / _ROUNDS_PER_SECOND
                try:
                    self._write(writer, self._partitions[rounds % len(self._partitions)], self._per_round)
                except ClusterError as error:
                    self.failure = error
                    return
                rounds += 1

    def _write(self, writer: Writer, where: TopicPartition, count: int) -> None:
        numbers = range(self._next, self._next + count)
        self._next += count
        now = int(time.time() * 1000)
        first = writer.append(where, [Record(0, now, str(number).encode(), _FILLING) for number in numbers])
        acked_at = int(time.time() * 1000)
        self.acked |= {number: Acked(where, first + index, acked_at) for index, number in enumerate(numbers)}
