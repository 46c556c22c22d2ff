"""Two writers at a steady pace: most keys are one's own, some are written by both, near each other or far apart."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from heliograph.kafka.records import Record

_ROUND_SECONDS = 0.05
_SEEDS_PER_SECOND = 4
_OWN_KEYS = 500

Write = Callable[[Sequence[Record]], None]


class ConflictLoad:
    """Writes in threads until it is stopped. Times of records are those at which they are written, nearly."""

    def __init__(self, writers: Mapping[str, Write], per_second: int, window_ms: int, chance: random.Random) -> None:
        self._writers = writers
        self._per_round = max(1, round(per_second * _ROUND_SECONDS))
        self._window_ms = window_ms
        self._chance = random.Random(chance.random())  # each thread has its own, so that none disturbs another
        self._seeds: dict[str, list[tuple[int, bytes]]] = {alias: [] for alias in writers}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._sow, daemon=True)]
        self._threads += [
            threading.Thread(target=self._write, args=(alias, random.Random(chance.random())), daemon=True)
            for alias in writers
        ]
        self.conflicting: list[bytes] = []  # keys that are written by all within a window
        self.apart: list[bytes] = []  # keys that are written by all, but not within a window
        self.written = 0

    def __enter__(self) -> ConflictLoad:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No more seeds from now on; what was sown is still written."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _sow(self) -> None:
        for number in count():
            if self._stopping.wait(1 / _SEEDS_PER_SECOND):
                return
            self._sow_one(number)

    def _sow_one(self, number: int) -> None:
        is_conflict = self._chance.random() < 0.6
        key = f"{'both' if is_conflict else 'apart'}-{number}".encode()
        near = self._chance.randint(0, self._window_ms)
        gap = near if is_conflict else self._window_ms + self._chance.randint(1, 2000)
        first_ms = int(time.time() * 1000) + 200
        aliases = self._chance.sample(list(self._writers), len(self._writers))
        with self._lock:
            (self.conflicting if is_conflict else self.apart).append(key)
            for place, alias in enumerate(aliases):
                self._seeds[alias].append((first_ms + place * gap, key))

    def _write(self, alias: str, chance: random.Random) -> None:
        numbers = count()
        while True:
            due = time.monotonic() + _ROUND_SECONDS
            records, are_left = self._round(alias, chance, numbers)
            if records:
                self._writers[alias](records)
                self.written += len(records)
            if not records and not are_left and self._stopping.is_set():
                return
            time.sleep(max(0.0, due - time.monotonic()))

    def _round(self, alias: str, chance: random.Random, numbers: count[int]) -> tuple[list[Record], bool]:
        now_ms = int(time.time() * 1000)
        with self._lock:
            due = [seed for seed in self._seeds[alias] if seed[0] <= now_ms]
            self._seeds[alias] = [seed for seed in self._seeds[alias] if seed[0] > now_ms]
            are_left = bool(self._seeds[alias])
        count_now = 0 if self._stopping.is_set() else self._per_round
        keys = [f"{alias}-{chance.randrange(_OWN_KEYS)}".encode() for _ in range(count_now)]
        plain = [Record(0, now_ms, key, f"{alias}-{next(numbers)}".encode()) for key in keys]
        seeded = [Record(0, at_ms, key, f"{alias}-{next(numbers)}".encode()) for at_ms, key in due]
        return [*plain, *seeded], are_left
