"""A child process that never outlives its parent, however the parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from heliograph.errors import ProcessFailed

# The parent holds the write end of a pipe that is the launcher's input. A small watcher reads it: when the parent goes
# away, also by `kill -9`, the read ends and the watcher kills the child. `exec` keeps the child's own process id.
_LAUNCHER = 'exec 3<&0; ( read -r _ <&3; kill -9 $$ 2>/dev/null ) & exec "$@" 3<&- </dev/null'


class ChildProcess:
    """A running program with its log file; ended with its parent."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        read_end, self._lifeline = os.pipe()
        with open(log, "ab") as output:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _LAUNCHER, "heliograph-child", *command],
                stdin=read_end,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # Ctrl-C reaches the parent alone, which then stops its children in order
            )
        os.close(read_end)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process still lives."""
        return self._process.poll() is None

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait for a condition; fail at once when the process ends first."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.is_running:
                raise ProcessFailed(f"{self.name} ended with code {self._process.returncode}:\n{self._last_lines()}")
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{self.name} was not ready within {timeout:.0f} s, see {self.log}")
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, e.g. SIGSTOP and SIGCONT to freeze and thaw."""
        if self.is_running:
            self._process.send_signal(number)

    def begin_stop(self) -> None:
        """Ask the process to end; `stop` waits for it."""
        self.signal(signal.SIGTERM)

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
        self._process.kill()
        self._process.wait()
        self._release()

    def _release(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def _last_lines(self, count: int = 15) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-count:])
