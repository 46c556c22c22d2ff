"""What a failed test leaves behind: the logs of brokers and mirrors, and how to run it again.

Brokers move their logs to a folder of the run when they are stopped (see `KEEP_LOGS` of `embedded.cluster`). When a
test fails, these logs, those of brokers that still run, and all logs that the test wrote below its temporary folders
are copied to `.heliograph/evidence/<test>`. A run without failures leaves nothing.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from heliograph.embedded.cluster import EmbeddedCluster

_KINDS = ("*.log", "*.properties")
_LARGEST = 20 * 1024 * 1024  # of a longer log the end is kept


class Evidence:
    """Collects logs for one process that runs tests."""

    def __init__(self, root: Path, stopped: Path) -> None:
        self._root = root
        self._stopped = stopped  # logs of brokers that were stopped
        self._file: Path | None = None
        self._began = time.time()

    def test_begins(self, file: Path) -> None:
        """Only logs that were written since the first test of the same file are of interest."""
        if file != self._file:
            self._file, self._began = file, time.time()

    def collect(self, test: str, temporary: Path) -> Path:
        """Copy what there is; returns where to."""
        folder = self._root / re.sub(r"[^\w.-]+", "_", test)[-150:]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for cluster in EmbeddedCluster.running():
            for node in cluster.nodes:
                if node.log.exists():
                    _copy_end(node.log, folder / "brokers" / f"{node.name}.log")
        for file in self._written_since(self._stopped):
            _copy_end(file, folder / "brokers" / file.relative_to(self._stopped))
        for file in self._written_since(temporary):
            _copy_end(file, folder / "mirrors" / file.relative_to(temporary))
        return folder

    def _written_since(self, place: Path) -> Iterator[Path]:
        for kind in _KINDS:
            for file in place.rglob(kind):
                if file.is_file() and file.stat().st_mtime >= self._began:
                    yield file


def _copy_end(file: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    with file.open("rb") as source, copy.open("wb") as target:
        source.seek(max(0, file.stat().st_size - _LARGEST))
        shutil.copyfileobj(source, target)
