"""Spark's own kind of cluster, as it stands on any machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pyspark

from heliograph.java import QUICK_START, ensure_java
from tests.waiting import wait_until

SPARK_HOME = Path(pyspark.__file__).parent
_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_SMALL_AND_QUICK = {
    "SPARK_DAEMON_MEMORY": "128m",
    "SPARK_DAEMON_JAVA_OPTS": " ".join(QUICK_START),
    "SPARK_LAUNCHER_OPTS": " ".join(QUICK_START),
    "SPARK_WORKER_OPTS": "-Dspark.worker.timeout=10",
    "SPARK_MASTER_OPTS": "-Dspark.worker.timeout=10 -Dspark.deploy.maxExecutorRetries=-1",
}


class Worker:
    """One worker; its executors are children of its process."""

    def __init__(self, master: str, folder: Path, cores: int) -> None:
        folder.mkdir()
        self.folder = folder
        options = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", str(cores), "--memory", "2g"]
        work = ["--work-dir", str(folder / "work")]
        log = folder / "worker.log"
        self._process = _started("worker.Worker", [*options, *work, master], log)
        wait_until(lambda: "Successfully registered" in log.read_text(), f"a worker: {log}", 60)

    @property
    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks here."""
        return [child for child in self._all() if "CoarseGrainedExecutorBackend" in _command_line(child)]

    @property
    def lanes(self) -> list[psutil.Process]:
        """The Python processes that run tasks here: children of the daemon that each executor has."""
        return [lane for daemon in self.daemons for lane in _children(daemon)]

    @property
    def daemons(self) -> list[psutil.Process]:
        """The Python processes from which lanes are forked."""
        return [child for executor in self.executors for child in _children(executor)]

    def freeze(self) -> FrozenMachine:
        """Everything here stands still, as in a virtual machine that is paused."""
        return FrozenMachine(psutil.Process(self._process.pid), self.executors, self.daemons, self.lanes)

    def kill(self) -> None:
        """The whole machine is gone, so to say."""
        for process in [psutil.Process(self._process.pid), *self._all()]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _all(self) -> list[psutil.Process]:
        return _children(psutil.Process(self._process.pid), recursive=True) if self.is_running else []


class FrozenMachine:
    """A worker with its executors and lanes, all of which stand still and are alive: nothing on it can end them."""

    def __init__(
        self,
        worker: psutil.Process,
        executors: list[psutil.Process],
        daemons: list[psutil.Process],
        lanes: list[psutil.Process],
    ) -> None:
        self.executors, self.lanes = executors, lanes
        self._others = [worker, *executors, *daemons]
        for process in self._all:
            process.suspend()

    @property
    def _all(self) -> list[psutil.Process]:
        return [*self._others, *self.lanes]

    @property
    def still(self) -> list[psutil.Process]:
        """Those that have not been ended, and have not moved."""
        return [process for process in self._all if _status(process) == psutil.STATUS_STOPPED]

    @property
    def is_whole(self) -> bool:
        """Whether all of them are still there, and still."""
        return len(self.still) == len(self._all)

    def wake_lanes(self) -> None:
        """Only the lanes: nobody beside them could tell them that they are not wanted any more."""
        for lane in self.lanes:
            lane.resume()

    def wake(self) -> None:
        """Everything moves again."""
        for process in self._all:
            with suppress(psutil.NoSuchProcess):
                process.resume()


class StandaloneCluster:
    """A master with two workers."""

    def __init__(self, folder: Path, cores: int) -> None:
        self.folder = folder
        self._cores = cores
        log = folder / "master.log"
        self._master = _started("master.Master", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], log)
        wait_until(lambda: _MASTER_URL.search(log.read_text()) is not None, f"the master: {log}", 60)
        found = _MASTER_URL.search(log.read_text())
        assert found is not None
        self.url = found[1]
        self.workers: list[Worker] = []

    @property
    def living(self) -> list[Worker]:
        """The workers that have not been killed."""
        return [worker for worker in self.workers if worker.is_running]

    def add_worker(self) -> Worker:
        """Another machine, so to say."""
        number = len(self.workers) + 1
        self.workers.append(Worker(self.url, self.folder / f"worker-{number}", self._cores))
        return self.workers[-1]

    def close(self) -> None:
        """End everything."""
        for worker in self.living:
            worker.kill()
        self._master.kill()
        self._master.wait()


@contextmanager
def standalone_cluster(folder: Path, cores: int) -> Iterator[StandaloneCluster]:
    """A master and two workers with so many cores each."""
    cluster = StandaloneCluster(folder, cores)
    try:
        for _ in range(2):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


def _started(class_name: str, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    with open(log, "wb") as output:
        return subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=bare_environment(log.parent),
            cwd=log.parent,
        )


def bare_environment(folder: Path) -> dict[str, str]:
    """Of a machine that has Python, Java and Spark, and none of the project's packages."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return {
        **kept,
        **_SMALL_AND_QUICK,
        "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}",
        "JAVA_HOME": str(ensure_java().resolve().parent.parent),
        "SPARK_HOME": str(SPARK_HOME),
        "TMPDIR": str(folder),
    }


def _children(process: psutil.Process, recursive: bool = False) -> list[psutil.Process]:
    """Those that there are; processes come and go while one looks."""
    for _ in range(5):
        with suppress(psutil.NoSuchProcess):
            return process.children(recursive)
        if not process.is_running():
            break
    return []


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)
