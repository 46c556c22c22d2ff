"""A drill that is asked for like an operation, and rehearsed by a process of its own.

A drill mirrors its canaries itself. Within the process of a mirror it would share, and end, that one's Spark session.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control.single_step_run import SingleStepRun
from heliograph.errors import OperationFailed
from heliograph.recovery.operation import PlannedStep
from heliograph.recovery.steps.step import Outlook

NAME = "drill"
_STEP, _TITLE = "rehearse", "Rehearse failover and failback"
_LOOK_SECONDS = 0.5
_CLEAN_UP_SECONDS = 120.0  # what a drill that was told to end takes to delete what it has created
_PREVIEW_SECONDS = 60.0


@dataclass(frozen=True)
class DrillWishes:
    """How large a drill is."""

    seconds: float = 20.0
    groups: int = 20


class DrillRun(SingleStepRun):
    """`heliograph drill` of the same file; its report is part of the answer."""

    def __init__(self, config: MirrorConfig, flow: FlowConfig, wishes: DrillWishes) -> None:
        self._command = [sys.executable, "-m", "heliograph", "drill", config.file, "--flow", flow.name, "-o", "json"]
        self._wishes = wishes
        self._found: dict[str, Any] = {}
        super().__init__(NAME, flow.name, _STEP, _TITLE)

    def preview(self) -> list[PlannedStep]:
        """What would be created, and what stands in the way."""
        done = subprocess.run(
            [*self._command, "--dry-run"], capture_output=True, text=True, timeout=_PREVIEW_SECONDS, check=False
        )
        found = _parsed(done.stdout)
        problems = found.get("problems", [_last_line(done.stderr)] if done.returncode else [])
        text = "would create, and delete at the end: " + "; ".join(found.get("creates", ()))
        return [PlannedStep(_STEP, _TITLE, Outlook(text if found else "", tuple(problems)))]

    def details(self) -> dict[str, Any]:
        """The drill's own report."""
        return {"drill": self._found} if self._found else {}

    def _work(self) -> str:
        try:
            found = self._found = self._rehearse()
        except OSError as error:
            raise OperationFailed(str(error)) from error
        if found.get("verdict") != "pass":
            raise OperationFailed("; ".join(found.get("reasons", ())) or "the drill told nothing")
        return "passed"

    def _rehearse(self) -> dict[str, Any]:
        wishes = self._wishes
        options = ["--seconds", str(wishes.seconds), "--groups", str(wishes.groups)]
        with tempfile.TemporaryDirectory(prefix="heliograph-drill-report-") as folder:
            process = subprocess.Popen(
                [*self._command, *options, "--report", folder],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            with process:
                try:
                    return _parsed(self._follow(process))
                finally:
                    _end(process)

    def _follow(self, process: subprocess.Popen[str]) -> str:
        """What it puts out in the end; meanwhile its steps are told as they come."""
        assert process.stdout is not None
        assert process.stderr is not None
        told: queue.SimpleQueue[str] = queue.SimpleQueue()
        answer: list[str] = []
        readers = [
            threading.Thread(target=_collect, args=(process.stderr, told.put), daemon=True),
            threading.Thread(target=_collect, args=(process.stdout, answer.append), daemon=True),
        ]
        for reader in readers:
            reader.start()
        text, began = "beginning", time.monotonic()
        while any(reader.is_alive() for reader in readers):
            with suppress(queue.Empty):
                text = told.get(timeout=_LOOK_SECONDS)
            self._tell(text, time.monotonic() - began)
        return "".join(answer)


def _collect(stream: IO[str], take: Callable[[str], object]) -> None:
    for line in stream:
        take(line.rstrip("\n"))


def _end(process: subprocess.Popen[str]) -> None:
    """Let a drill that still runs clean up."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_CLEAN_UP_SECONDS)
    if process.poll() is None:
        process.kill()


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _last_line(text: str) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return lines[-1] if lines else "the drill told nothing"
