"""Runs a shell command with an end to its time, and keeps the end of what it prints."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_GRACE_SECONDS: Final = 2.0  # between asking a command to end and ending it
_LAST_WORDS_SECONDS: Final = 0.2  # for what is still in the pipe when the command itself has ended
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True)
class CommandResult:
    """How a command ended; without an exit code its time was over."""

    exit_code: int | None
    output: bytes


def run_shell(
    command: str, folder: Path, environment: Mapping[str, str], seconds: float, keep_bytes: int
) -> CommandResult:
    """Run a command to its end, or to the end of its time: then it ends with all processes that it has started.

    What it started in the background may outlive it if it ends in time, as with any shell. Raises OSError if it cannot
    be started.
    """
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches us alone, and all that it starts can be ended together
    )
    assert process.stdout is not None
    with process, process.stdout, closing(_Tail(process.stdout.fileno(), keep_bytes)) as tail:
        try:
            in_time = _await_end(process.pid, tail, time.monotonic() + seconds)
        except BaseException:
            _end_group(process.pid, tail)
            raise
        if not in_time:
            _end_group(process.pid, tail)
        tail.read_for(_LAST_WORDS_SECONDS)
        code = process.wait()
    return CommandResult(code if in_time else None, tail.kept)


class _Tail:
    """Reads a pipe so that nobody who writes to it has to wait, and keeps the last of it."""

    def __init__(self, pipe: int, size: int) -> None:
        self._pipe = pipe
        self._size = size
        self._selector = selectors.DefaultSelector()
        os.set_blocking(pipe, False)
        self._selector.register(pipe, selectors.EVENT_READ)
        self._is_open = True
        self.kept = b""

    def read_for(self, seconds: float) -> None:
        """Read until the other side has closed it, for so long at most."""
        deadline = time.monotonic() + seconds
        while self._is_open and (left := deadline - time.monotonic()) > 0:
            self.read_once(left)

    def read_once(self, seconds: float) -> None:
        """Wait so long at most for something to read; just wait if there will be nothing more."""
        if not self._is_open:
            time.sleep(seconds)
        elif self._selector.select(seconds):
            data = os.read(self._pipe, 65_536)
            self.kept = (self.kept + data)[-self._size :]
            self._is_open = bool(data)

    def close(self) -> None:
        """Read no more."""
        self._selector.close()


def _await_end(pid: int, tail: _Tail, deadline: float) -> bool:
    while not _has_ended(pid):
        if time.monotonic() >= deadline:
            return False
        tail.read_once(_LOOK_SECONDS)
    return True


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it is not reaped, so that its id stays its own and that of its group."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(pid: int, tail: _Tail) -> None:
    """End a command and all that it has started: kindly first, then by force."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGTERM)
        _await_end(pid, tail, time.monotonic() + _GRACE_SECONDS)
        os.killpg(pid, signal.SIGKILL)
