"""Keeps the mirroring process alive: starts it, passes signals on, starts it again when it dies.

Spark's JVM can die, or the process can be killed; neither can mend itself from inside. What was committed is on the
target, so a new process simply goes on there.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from heliograph.errors import ConfigError, StartError, TakenOver

log = logging.getLogger(__name__)

LIFELINE = "HELIOGRAPH_LIFELINE"
_STARTED = "HELIOGRAPH_STARTED"

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_LONG_ENOUGH = 60.0
# Done, wrong configuration, taken over by another mirror: a new attempt would be no help, or a fight.
_FINAL_CODES = {0, ConfigError.exit_code, TakenOver.exit_code}


class Supervisor:
    """Runs one command again and again until it ends in good order or is asked to stop."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._has_started = False

    def run(self) -> int:
        """Run until the command ends for good; returns its exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            code = self._run_once()
            if self._stopping.is_set() and code == -signal.SIGTERM:
                return 0  # our own signal, which came before it could listen: there was nothing under way yet
            if self._stopping.is_set() or self._is_final(code):
                return code if code >= 0 else 1
            pause = _FIRST_PAUSE if time.monotonic() - began > _LONG_ENOUGH else min(pause * 2, _LONGEST_PAUSE)
            log.error("the mirroring process ended (%s); starting it again in %.1f s", _cause(code), pause)
            if self._stopping.wait(pause):
                return 0

    def _is_final(self, code: int) -> bool:
        """What could be started before can be started again, once whatever hinders it now has passed."""
        return code in _FINAL_CODES or (code == StartError.exit_code and not self._has_started)

    def _run_once(self) -> int:
        # The child sees its input end when this process is gone, however it went, and then drains and ends too.
        lifeline, our_end = os.pipe()
        started, its_end = os.pipe()
        environment = {**os.environ, LIFELINE: "1", _STARTED: str(its_end)}
        self._child = subprocess.Popen(
            self._command, stdin=lifeline, env=environment, start_new_session=True, pass_fds=[its_end]
        )
        os.close(lifeline)
        os.close(its_end)
        if self._stopping.is_set():
            self._child.terminate()
        try:
            code = self._child.wait()
            self._has_started |= _holds_something(started)
            return code
        finally:
            os.close(our_end)
            os.close(started)

    def _pass_on(self, number: int, _: object) -> None:
        self._stopping.set()
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(signal.SIGTERM)


def watch_lifeline() -> threading.Event:
    """In the supervised process: an event that is set when the supervisor is gone."""
    gone = threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            pass
        gone.set()

    if os.environ.get(LIFELINE):
        threading.Thread(target=watch, name="lifeline", daemon=True).start()
    return gone


def tell_started() -> None:
    """In the supervised process: let the supervisor know that everything needed to start was there."""
    if descriptor := os.environ.pop(_STARTED, ""):
        os.write(int(descriptor), b"1")
        os.close(int(descriptor))


def supervised_command(arguments: Sequence[str]) -> list[str]:
    """The same program with other arguments."""
    return [sys.executable, "-m", "heliograph", *arguments]


def _holds_something(pipe: int) -> bool:
    """Whether something was written; does not wait for writers, as a child's child may have outlived it."""
    return bool(select.select([pipe], [], [], 0)[0] and os.read(pipe, 1))


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
