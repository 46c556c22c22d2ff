"""The processes of a running mirror by what they are for: the driver, Spark's JVM, and the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psutil

DRIVER, JVM, LANES = "driver", "JVM", "lanes"
KINDS = (DRIVER, JVM, LANES)


@dataclass(frozen=True)
class Spent:
    """Processor time so far, and memory now, of all processes of one kind."""

    cpu_seconds: float = 0.0
    bytes: int = 0


def spent_by_kind(root: int) -> dict[str, Spent]:
    """What the process tree has spent, as far as its processes live. Supervisor and planners count as the driver."""
    found = dict.fromkeys(KINDS, Spent())
    for kind, spent in _processes(psutil.Process(root)):
        before = found[kind]
        found[kind] = Spent(before.cpu_seconds + spent.cpu_seconds, before.bytes + spent.bytes)
    return found


def _processes(root: psutil.Process) -> Iterator[tuple[str, Spent]]:
    for process in [root, *root.children(recursive=True)]:
        try:
            times = process.cpu_times()
            spent = Spent(times.user + times.system, process.memory_info().rss)
            yield _kind(process.cmdline()), spent
        except psutil.NoSuchProcess:
            continue


def _kind(command: list[str]) -> str:
    if "pyspark.worker" in command:
        return LANES
    return JVM if command and command[0].endswith("java") else DRIVER
