"""`heliograph run` as a real process tree: supervisor, engine, Spark's JVM, Python workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.waiting import wait_until

# An interrupted run leaves no mirror behind: the system kills the supervisor, and the rest of the mirror follows it.
_ENDED_WITH_THE_TESTS = ("setpriv", "--pdeathsig", "KILL")


class MirrorProcess:
    """A running mirror whose parts can be found and killed."""

    def __init__(
        self,
        settings: Path,
        log: Path,
        faults: Path | None = None,
        options: Sequence[str] = (),
        program: Sequence[str] = (sys.executable, "-m", "heliograph"),
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._log = log
        self.folder = log.parent / "temporary"  # where Spark and the mirror leave files while they run
        self.folder.mkdir(exist_ok=True)
        variables = {**environment, "TMPDIR": str(self.folder)}
        if faults is not None:
            faults.mkdir(exist_ok=True)
            variables["HELIOGRAPH_FAULTS"] = str(faults)
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                [*_ENDED_WITH_THE_TESTS, *program, "run", str(settings), *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=variables,
            )

    @property
    def supervisor(self) -> psutil.Process:
        """The process that the user started."""
        return psutil.Process(self._process.pid)

    def engine(self) -> psutil.Process:
        """The process that mirrors."""
        return self.living("engine")[0]

    def jvm(self) -> psutil.Process:
        """Spark."""
        return self.living("jvm")[0]

    def worker(self) -> psutil.Process:
        """A Python worker that runs a lane."""
        return self.living("worker")[0]

    def living(self, part: str) -> list[psutil.Process]:
        """All processes of a kind that live, as soon as there is one."""
        search = {"engine": self._engines, "jvm": self._jvms, "worker": self._workers}[part]
        found: list[psutil.Process] = []

        def look() -> bool:
            with suppress(psutil.NoSuchProcess):
                found[:] = [process for process in search() if process.status() != psutil.STATUS_ZOMBIE]
            return bool(found)

        wait_until(look, f"a living {part} of the mirror", 120)
        return found

    def memory(self) -> dict[str, int]:
        """The bytes that each kind of process holds; of several, the largest."""
        parts = ("engine", "jvm", "worker")
        return {part: max(process.memory_info().rss for process in self.living(part)) for part in parts}

    def tree(self) -> list[psutil.Process]:
        """All processes, the supervisor first."""
        return [self.supervisor, *self.supervisor.children(recursive=True)]

    def command_lines(self) -> list[str]:
        """What the process list shows of all processes that live."""
        lines = []
        for process in self.tree():
            with suppress(psutil.NoSuchProcess):  # also of a zombie
                lines.append(" ".join(process.cmdline()))
        return lines

    def stop(self, timeout: float = 60) -> int:
        """SIGTERM; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(timeout)

    def wait(self, timeout: float) -> int:
        """The exit code, when it ends by itself."""
        return self._process.wait(timeout)

    def kill(self) -> None:
        """End everything at once, if it still runs."""
        try:
            processes = self.tree()
        except psutil.NoSuchProcess:
            processes = []
        for process in processes:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.wait()

    def log_text(self) -> str:
        """What it wrote so far."""
        return self._log.read_text(errors="replace")

    def _engines(self) -> list[psutil.Process]:
        return self.supervisor.children()

    def _jvms(self) -> list[psutil.Process]:
        return [child for engine in self._engines() for child in engine.children() if child.name() == "java"]

    def _workers(self) -> list[psutil.Process]:
        """The children of Spark's worker daemon."""
        children = [child for jvm in self._jvms() for child in jvm.children()]
        daemons = [child for child in children if _last_argument(child) == "pyspark.worker"]
        return [worker for daemon in daemons for worker in daemon.children()]


def _last_argument(process: psutil.Process) -> str:
    try:
        return process.cmdline()[-1]
    except (psutil.NoSuchProcess, IndexError):  # also a zombie, of which Spark's JVM has one
        return ""


class MirrorRuns:
    """Mirrors of one file, one after the other, each with a log of its own."""

    def __init__(self, settings: Path, faults: Path | None = None) -> None:
        self._settings = settings
        self._faults = faults
        self._count = 0

    @contextmanager
    def one(self) -> Iterator[MirrorProcess]:
        """`heliograph run`, of which nothing is left at the end."""
        self._count += 1
        process = MirrorProcess(self._settings, self._settings.parent / f"mirror-{self._count}.log", self._faults)
        try:
            yield process
        finally:
            process.kill()
