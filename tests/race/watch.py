"""What groups have committed on a cluster, and since when."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from heliograph.kafka.access import Access
from heliograph.kafka.groups import Groups

_INTERVAL_SECONDS = 0.05

Offsets = Mapping[int, int]
History = Sequence[tuple[float, Offsets]]


class Watch:
    """Looks at some groups again and again, in a thread, and notes every change."""

    def __init__(self, access: Access, groups: Sequence[str], topic: str) -> None:
        self._access = access
        self._topic = topic
        self._history: dict[str, list[tuple[float, Offsets]]] = {name: [(0.0, {})] for name in groups}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def history(self, group: str) -> History:
        """All that the group has committed, each with the time when it was first seen."""
        return list(self._history[group])

    def _run(self) -> None:
        with Groups(self._access) as groups:
            while not self._stopping.wait(_INTERVAL_SECONDS):
                for name, found in groups.committed(list(self._history)).items():
                    offsets = {
                        where.partition: item.offset for where, item in found.items() if where.topic == self._topic
                    }
                    if offsets != self._history[name][-1][1]:
                        self._history[name].append((time.monotonic(), offsets))


def right_since(history: History, done: Mapping[int, int], copy: Mapping[int, Sequence[int]]) -> float | None:
    """The time from which on a group would go on right behind what it has done; None if it would not at the end.

    `copy` has the offsets of all records of each partition.
    """
    since: float | None = None
    for moment, offsets in history:
        if not _is_right(offsets, done, copy):
            since = None
        elif since is None:
            since = moment
    return since


def _is_right(offsets: Offsets, done: Mapping[int, int], copy: Mapping[int, Sequence[int]]) -> bool:
    """Whether exactly so many records of each partition lie before where the group stands: gaps do not matter."""
    return all(bisect_left(there, offsets.get(number, 0)) == done.get(number, 0) for number, there in copy.items())
