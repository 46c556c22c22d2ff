"""The two programs under test as process trees whose processor time and memory can be read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol

import psutil

from heliograph.embedded.jvm import PEAK_SPEED
from heliograph.embedded.mirrormaker import MirrorMaker2


@dataclass
class Usage:
    """What a process tree has used so far, and the largest it was."""

    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    peak_lane_bytes: int = 0


class Rival(Protocol):
    """A mirror that can be started and stopped."""

    name: str

    def __enter__(self) -> Rival: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def usage(self) -> Usage:
        """Processor time since the start, and memory."""


@dataclass
class _Tree:
    """Sums a process tree. Time of processes that have ended is kept."""

    root: int
    seen: dict[int, float] = field(default_factory=dict)
    peak: int = 0
    peak_lane: int = 0

    def usage(self) -> Usage:
        total = 0
        root = psutil.Process(self.root)
        for process in [root, *root.children(recursive=True)]:
            try:
                times = process.cpu_times()
                resident = process.memory_info().rss
                lane = process.parent() is not None and "pyspark.worker" in process.cmdline()
            except psutil.NoSuchProcess:
                continue
            self.seen[process.pid] = times.user + times.system
            total += resident
            if lane:
                self.peak_lane = max(self.peak_lane, resident)
        self.peak = max(self.peak, total)
        return Usage(sum(self.seen.values()), self.peak, self.peak_lane)


def _write(path: Path, properties: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key} = {value}\n" for key, value in properties.items()))
    return path


class Heliograph:
    """Our own mirror."""

    def __init__(self, properties: Mapping[str, str], folder: Path, name: str = "Heliograph") -> None:
        self.name = name
        self._settings = _write(folder / f"{name.replace(' ', '-')}.properties", properties)
        self._log = folder / f"{name.replace(' ', '-')}.log"

    def __enter__(self) -> Heliograph:
        with open(self._log, "wb") as output:
            command = [sys.executable, "-m", "heliograph", "run", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self._tree = _Tree(self._process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)

    @property
    def pid(self) -> int:
        """Of the supervisor, the root of all its processes."""
        return self._process.pid

    def usage(self) -> Usage:
        """Supervisor, engine, JVM and workers together."""
        return self._tree.usage()


class RealMirrorMaker2:
    """The rival, tuned as a good operator would."""

    name = "MirrorMaker 2"

    def __init__(self, properties: Mapping[str, str], folder: Path) -> None:
        self._maker = MirrorMaker2(properties, folder, heap="2g", tuning=PEAK_SPEED)

    def __enter__(self) -> RealMirrorMaker2:
        self._maker.start()
        self._tree = _Tree(self._maker.process.pid)
        return self

    def __exit__(self, *_: object) -> None:
        self._maker.stop()

    def usage(self) -> Usage:
        """Its JVM."""
        return self._tree.usage()
