"""A mirror of one flow with SQL as a process of its own, which tests can kill. Arguments: settings file, query."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil

from heliograph.config.mirror_config import load
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.engine.mirror import Mirror
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.rules import SqlRules
from tests.waiting import wait_until


def run(file: str, sql: str) -> int:
    """Mirror until SIGTERM; 0 if all ended in good order."""
    logging.basicConfig(level=logging.INFO)
    flow = load(file).flows[0]
    mirror = Mirror([TableFlowDriver(flow_settings(flow), ClusterTopics(flow), SqlRules(sql))], {})
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    mirror.start()
    while not stopping.wait(0.1) and mirror.is_running:
        pass
    drained = mirror.stop()
    return 0 if drained and mirror.failure is None else 1


class SqlMirror:
    """The process from the outside."""

    def __init__(self, settings: Path, sql: str) -> None:
        self.log = settings.parent / "mirror.log"
        self.faults = settings.parent / "faults"
        self.faults.mkdir(exist_ok=True)
        environment = {**os.environ, "HELIOGRAPH_FAULTS": str(self.faults), "TMPDIR": str(settings.parent)}
        root = Path(__file__).parents[3]
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.tables.sql_mirror", str(settings), sql],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=root,
            )

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(60)

    def wait(self, seconds: float = 60) -> int:
        """The exit code, when it ends by itself."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """SIGKILL to all of its processes, which leaves no time to clean up."""
        tree = self._tree()
        for process in tree:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(30)

    def workers(self) -> list[psutil.Process]:
        """The Python processes that Spark reads and writes with."""
        found = []
        for process in self._tree():
            with suppress(psutil.NoSuchProcess):
                if "pyspark.daemon" in " ".join(process.cmdline()) and not process.children():
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
    sys.exit(run(*sys.argv[1:3]))
