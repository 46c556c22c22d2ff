"""A mirror of flows with SQL as a process of its own, which tests can kill. Arguments: files and queries."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from heliograph.config.mirror_config import load
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.engine.mirror import Mirror
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.rules import SqlRules
from heliograph.java import QUICK_START
from tests.waiting import wait_until

log = logging.getLogger(__name__)
ENDED = "flow {} has ended while the mirror runs"


def run(*arguments: str) -> int:
    """Mirror until SIGTERM, or until no flow is left; 0 if all ended in good order."""
    logging.basicConfig(level=logging.INFO)
    drivers = [_driver(file, sql) for file, sql in zip(arguments[::2], arguments[1::2], strict=True)]
    mirror = Mirror(drivers, {"spark.driver.extraJavaOptions": " ".join(QUICK_START)})
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    mirror.start()
    alive = list(drivers)
    while not stopping.wait(0.1) and mirror.is_running:
        for driver in [driver for driver in alive if not mirror.is_alive(driver)]:
            log.info(ENDED.format(driver.name))
            alive.remove(driver)
    drained = mirror.stop()
    return 0 if drained and mirror.failure is None else 1


def _driver(file: str, sql: str) -> TableFlowDriver:
    flow = load(file).flows[0]
    return TableFlowDriver(flow_settings(flow), ClusterTopics(flow), SqlRules(sql))


class SqlMirror:
    """The process from the outside."""

    def __init__(self, folder: Path, queries: Mapping[Path, str]) -> None:
        self.log = folder / "mirror.log"
        self.faults = folder / "faults"
        self.faults.mkdir(exist_ok=True)
        environment = {**os.environ, "HELIOGRAPH_FAULTS": str(self.faults), "TMPDIR": str(folder)}
        arguments = [text for settings, sql in queries.items() for text in (str(settings), sql)]
        root = Path(__file__).parents[3]
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.tables.sql_mirror", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=root,
            )

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def kill(self) -> None:
        """SIGKILL to all of its processes, which leaves no time to clean up."""
        tree = self._tree()
        for process in tree:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(30)

    def await_start(self) -> None:
        """Wait until Spark has started workers, which takes its time on a busy machine; what follows is quick."""
        wait_until(lambda: bool(self._workers()), "the first worker of the mirror", 240, 0.2)

    def worker(self, chance: random.Random) -> psutil.Process:
        """One of the living Python processes that Spark reads and writes with, as soon as there is one."""
        found: list[psutil.Process] = []

        def look() -> bool:
            found[:] = self._workers()
            return bool(found)

        wait_until(look, "a worker of the mirror", 60)
        return chance.choice(found)

    def _workers(self) -> list[psutil.Process]:
        found = []
        for process in self._tree():
            with suppress(psutil.NoSuchProcess):
                is_worker = "pyspark.daemon" in " ".join(process.cmdline()) and not process.children()
                if is_worker and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def die_at(self, point: str) -> None:
        """Let the next process that gets to a fault point kill itself there."""
        armed = self.faults / point
        armed.touch()
        wait_until(lambda: not armed.exists(), f"a process to die at {point}", 60)

    def _tree(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            top = psutil.Process(self._process.pid)
            return [*top.children(recursive=True), top]
        return []


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
