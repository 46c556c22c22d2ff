"""A child process that never outlives its parent, however the parent ends."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from heliograph.errors import ProcessFailed

# The parent holds the write end of a pipe that is the launcher's input. A small watcher reads it: when the
# parent goes away, also by `kill -9`, the read fails and the watcher kills the child with all its helpers. A
# line in the pipe releases the watcher instead: the child is gone, and its process id may soon be another's.
# `exec` keeps the child's own process id, which is also that of its process group.
_LAUNCHER = 'exec 3<&0; ( trap "" TERM; read -r _ <&3 || kill -9 -$$ 2>/dev/null ) & exec "$@" 3<&- </dev/null'
_SHOWN_LINES = 15
_ERROR = re.compile(r"\b(ERROR|FATAL)\b|Exception")


class ChildProcess:
    """A running program with its log file; ended with its parent."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        read_end, self._lifeline = os.pipe()
        with open(log, "ab") as output:
            self._log_start = output.tell()
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _LAUNCHER, "heliograph-child", *command],
                stdin=read_end,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # Ctrl-C reaches the parent alone, which stops its children in order
            )
        os.close(read_end)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process still lives."""
        if self._process.poll() is None:
            return True
        self._release()
        return False

    @property
    def exit_code(self) -> int | None:
        """How the process ended, as the system tells it; None while it lives."""
        return self._process.poll()

    def output(self) -> str:
        """What the process wrote since it was started."""
        with open(self.log, "rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def ensure_running(self) -> None:
        """Fail with the last lines of the log when the process has ended."""
        if not self.is_running:
            raise ProcessFailed(f"{self.name} ended with code {self.exit_code}:\n{self._last_lines()}")

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait for a condition; fail at once when the process ends first."""
        deadline = time.monotonic() + timeout
        while not ready():
            self.ensure_running()
            if time.monotonic() > deadline:
                raise ProcessFailed(
                    f"{self.name} was not ready within {timeout:.0f} s; the end of {self.log}:\n{self._last_lines()}"
                )
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, e.g. SIGSTOP and SIGCONT to freeze and thaw."""
        if self.is_running:
            self._process.send_signal(number)

    def begin_stop(self) -> None:
        """Ask the process to end, thawed if it was frozen; `stop` waits for it."""
        if self.is_running:
            os.killpg(self.pid, signal.SIGTERM)
            self.signal(signal.SIGCONT)

    def stop(self, timeout: float = 15) -> None:
        """End the process: kindly first, by force after the timeout."""
        self.begin_stop()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
        self._release()

    def kill(self) -> None:
        """End the process at once, as `kill -9` does."""
        if self.is_running:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self._release()

    def _release(self) -> None:
        if self._lifeline < 0:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(self._lifeline, b"\n")
        os.close(self._lifeline)
        self._lifeline = -1

    def _last_lines(self) -> str:
        """The end of the log; before it the errors, which a long shutdown may have moved out of sight."""
        lines = self.output().splitlines()
        earlier, last = lines[:-_SHOWN_LINES], lines[-_SHOWN_LINES:]
        errors = [line for line in earlier if _ERROR.search(line)]
        return "\n".join([*errors[:_SHOWN_LINES], *last])
