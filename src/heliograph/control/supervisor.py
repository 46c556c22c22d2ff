"""Keeps the mirroring process alive: starts it, passes signals on, starts it again when it dies.

Spark's JVM can die, or the process can be killed; neither can mend itself from inside. What was committed is on the
target, so a new process simply goes on there. It is a fork of the supervisor, which has loaded all code before: that
saves each start two seconds of processor time.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import threading
import time

from heliograph.errors import ConfigError, StartError, TakenOver

log = logging.getLogger(__name__)

LIFELINE = "HELIOGRAPH_LIFELINE"
_STARTED = "HELIOGRAPH_STARTED"

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_LONG_ENOUGH = 60.0
# Done, wrong configuration, taken over by another mirror: a new attempt would be no help, or a fight.
_FINAL_CODES = {0, ConfigError.exit_code, TakenOver.exit_code}


class Supervisor:
    """Forks a process again and again until one ends in good order or the supervisor is asked to stop."""

    def __init__(self) -> None:
        """From now on, signals that ask for an end are ours."""
        self._child = 0
        self._stopping = threading.Event()
        self._has_started = False
        for number in _STOP_SIGNALS:
            signal.signal(number, self._pass_on)

    def run(self) -> int | None:
        """In the supervisor: come back when a process has ended for good, with its exit code.

        In the process that is to do the work, which goes on from here: None.
        """
        pause = _FIRST_PAUSE
        while not self._stopping.is_set():
            began = time.monotonic()
            ended = self._run_once()
            if ended is None:
                return None
            code, has_started = ended
            self._has_started |= has_started
            if self._stopping.is_set() and code == -signal.SIGTERM:
                return 0  # our own signal, which came before it could listen: there was nothing under way yet
            if self._stopping.is_set() or self._is_final(code):
                return code if code >= 0 else 1
            # Patience is for what cannot start; whatever has mirrored is needed back at once.
            is_healthy = has_started or time.monotonic() - began > _LONG_ENOUGH
            pause = _FIRST_PAUSE if is_healthy else min(pause * 2, _LONGEST_PAUSE)
            log.error("the mirroring process ended (%s); starting it again in %.1f s", _cause(code), pause)
            self._stopping.wait(pause)
        return 0

    def _is_final(self, code: int) -> bool:
        """What could be started before can be started again, once whatever hinders it now has passed."""
        return code in _FINAL_CODES or (code == StartError.exit_code and not self._has_started)

    def _run_once(self) -> tuple[int, bool] | None:
        """Fork and wait: the exit code, and whether it had got as far as mirroring. None in the new process."""
        # The child sees its input end when this process is gone, however it went, and then drains and ends too.
        lifeline, our_end = os.pipe()
        started, its_end = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)  # one that comes just now must reach the child
        self._child = os.fork()
        if self._child == 0:
            os.close(our_end)
            os.close(started)
            _become_child(lifeline, its_end)
            return None
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
        os.close(lifeline)
        os.close(its_end)
        if self._stopping.is_set():
            os.kill(self._child, signal.SIGTERM)
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
            self._child = 0
            return code, _holds_something(started)
        finally:
            os.close(our_end)
            os.close(started)

    def _pass_on(self, number: int, _: object) -> None:
        self._stopping.set()
        if self._child:
            os.kill(self._child, signal.SIGTERM)


def _become_child(lifeline: int, started: int) -> None:
    """A session of its own, so that Ctrl-C reaches the supervisor alone; signals as in any new process."""
    os.setsid()
    os.dup2(lifeline, 0)
    os.close(lifeline)
    os.environ |= {LIFELINE: "1", _STARTED: str(started)}
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)


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


def _holds_something(pipe: int) -> bool:
    """Whether something was written; does not wait for writers, as a child's child may have outlived it."""
    return bool(select.select([pipe], [], [], 0)[0] and os.read(pipe, 1))


def _cause(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
