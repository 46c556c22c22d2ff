"""Several copies of the project, in which as many tests run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from tests.mutations.trial import ROOT, Trial

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class Crew:
    """Each copy does one thing at a time, in a process of its own."""

    def __init__(self, folder: Path, size: int, root: Path = ROOT, package: str = "heliograph") -> None:
        """`folder` must be empty. All copies are alike, even if somebody changes the project meanwhile."""
        places = [folder / str(number) for number in range(size)]
        for place in places:
            place.mkdir()
        first = Trial(places[0], root, package)
        self.trials = (first, *(Trial(place, places[0], package) for place in places[1:]))
        self.code = first.code()

    def each(self, items: Sequence[_Item], work: Callable[[Trial, _Item], _Answer]) -> Iterator[tuple[_Item, _Answer]]:
        """What becomes of each item, in the order in which they are done; they begin in the order given.

        Whatever ends this early, such as Ctrl-C, also ends the tests that are running.
        """
        free: SimpleQueue[Trial] = SimpleQueue()
        for trial in self.trials:
            free.put(trial)

        def done(item: _Item) -> _Answer:
            trial = free.get()
            try:
                return work(trial, item)
            finally:
                free.put(trial)

        pool = ThreadPoolExecutor(len(self.trials))
        under_way: dict[Future[_Answer], _Item] = {pool.submit(done, item): item for item in items}
        is_done = False
        try:
            for future in as_completed(under_way):
                yield under_way[future], future.result()
            is_done = True
        finally:
            if not is_done:
                self._end()
            pool.shutdown(cancel_futures=True)

    def _end(self) -> None:
        with ThreadPoolExecutor(len(self.trials)) as pool:
            list(pool.map(Trial.end, self.trials))
