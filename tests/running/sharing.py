"""Shares tests out among worker processes: what shares clusters or mirrors stays together; the longest go first.

Tests with brokers wait a good deal: for a process to start, for a mirror to catch up. So there is one worker more than
cores. It runs tests without brokers in the meantime, then short ones that need brokers and nothing else. It yields to
the others: whatever it took from a busy core it would only finish early, and leave cores idle later.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.running import durations

CORES = min(os.cpu_count() or 1, 4)
_TESTS = Path(__file__).parents[1]
_MARKERS = ("kafka", "spark", "oracle", "chaos")  # of tests that need brokers or Spark
_YIELDING = 5  # as much as still leaves it a quarter of a busy core, for tests that must end in time
_UNKNOWN = {True: 30.0, False: 1.0}  # of a group that was never measured, with brokers and without


class Sharing(LoadScopeScheduling):
    """Gives a free worker the next group, in the order of collection, and the last worker the last light one."""

    def __init__(self, config: pytest.Config, log: Producer | None) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """What is done is forgotten: with thousands of tests, counting it again each time takes long."""
        super().mark_test_complete(node, item_index, duration)
        kept = {name: tests for name, tests in self.assigned_work[node].items() if not all(tests.values())}
        self.assigned_work[node] = kept

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        chosen = self._next_for(node)
        if chosen is None:
            node.shutdown()
        else:
            self.workqueue.move_to_end(chosen, last=False)
            super()._assign_work_unit(node)

    def _next_for(self, node: WorkerController) -> str | None:
        if not _fills_gaps(node.gateway.id, self.numnodes):
            return next(iter(self.workqueue))
        shortest_first = list(reversed(self.workqueue))
        for fits in (is_light, is_calm):
            if chosen := next(filter(fits, shortest_first), None):
                return chosen
        return None


def yield_to_others(workerinput: Mapping[str, Any]) -> None:
    """Called in each worker: the one that fills gaps leaves the cores to those that have brokers."""
    if _fills_gaps(workerinput["workerid"], workerinput["workercount"]):
        os.nice(_YIELDING)


def _fills_gaps(worker: str, workers: int) -> bool:
    return workers > CORES and worker == f"gw{workers - 1}"


@cache
def is_light(group: str) -> bool:
    """Whether no test of a group needs brokers or Spark."""
    return _has_none_of(_MARKERS, group)


@cache
def is_calm(group: str) -> bool:
    """Whether a group needs brokers alone: nothing in it is killed, races another program or starts Spark."""
    return _has_none_of([name for name in _MARKERS if name != "kafka"], group)


def _has_none_of(markers: Iterable[str], group: str) -> bool:
    file = _TESTS.parent / group
    return file.is_file() and not any(f"mark.{name}" in file.read_text() for name in markers)


def group_of(nodeid: str) -> str:
    """The tests that must run in one process: a folder with fixtures for all of it, else a module."""
    file = nodeid.partition("::")[0]
    folders = [folder for folder in _shared_folders() if file.startswith(f"{folder}/")]
    return max(folders, key=len) if folders else file


def dearest_first(items: list[pytest.Item]) -> None:
    """Put the groups that take longest first, so that no worker is left alone with one at the end."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(group_of(item.nodeid), []).append(item)
    known = durations.known()
    expected = {name: _expected(members, known) for name, members in groups.items()}
    items[:] = [item for name in sorted(groups, key=lambda name: (-expected[name], name)) for item in groups[name]]


def _expected(items: Iterable[pytest.Item], known: Mapping[str, float]) -> float:
    """The sum of the modules in a group; one that was never measured is guessed."""
    modules: dict[str, bool] = {}
    for item in items:
        has_brokers = any(item.get_closest_marker(name) for name in _MARKERS)
        name = item.nodeid.partition("::")[0]
        modules[name] = modules.get(name, False) or has_brokers
    return sum(known.get(name, _UNKNOWN[has_brokers]) for name, has_brokers in modules.items())


@cache
def _shared_folders() -> tuple[str, ...]:
    conftests = [file for file in _TESTS.rglob("conftest.py") if 'scope="package"' in file.read_text()]
    return tuple(str(file.parent.relative_to(_TESTS.parent)) for file in conftests)
