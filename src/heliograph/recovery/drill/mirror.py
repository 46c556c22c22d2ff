"""The mirror of a drill: the real command as a child process, which can be ended without a warning."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from heliograph.config.variable_name import FILE_ALONE
from heliograph.embedded.child import ChildProcess


class DrillMirror:
    """`heliograph run` for the drill's own configuration; ends with the drill, however that ends."""

    def __init__(self, file: Path, folder: Path) -> None:
        """`folder`: for the log, and for what Spark leaves behind when it is killed."""
        temporary = folder / "mirror"
        temporary.mkdir()
        command = [sys.executable, "-m", "heliograph", "run", str(file), "--once"]
        self._process = ChildProcess(
            "the mirror", command, folder / "mirror.log", {"TMPDIR": str(temporary), FILE_ALONE: "1"}
        )

    def ensure_running(self) -> None:
        """Fail with the end of its log when it has ended."""
        self._process.ensure_running()

    def kill(self) -> None:
        """End it as a power cut would: nothing is committed any more. Spark's workers are no part of its group."""
        with suppress(psutil.NoSuchProcess):
            helpers = psutil.Process(self._process.pid).children(recursive=True)
            self._process.kill()
            for helper in helpers:
                with suppress(psutil.NoSuchProcess):
                    helper.kill()
        self._process.kill()
