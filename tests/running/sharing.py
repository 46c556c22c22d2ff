"""Shares tests out among worker processes: what shares clusters or mirrors stays together; the longest go first.

More workers than cores gain nothing: what fills the gaps of the others slows them down by as much.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from tests.running import durations

WORKERS = min(os.cpu_count() or 1, 4)
_TESTS = Path(__file__).parents[1]
_MARKERS = ("kafka", "spark", "oracle", "chaos")  # of tests that need brokers or Spark
_UNKNOWN = {True: 30.0, False: 1.0}  # of a group that was never measured, with brokers and without


class Sharing(LoadScopeScheduling):
    """Gives a free worker the next group, in the order of collection."""

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
