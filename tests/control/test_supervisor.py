"""The supervisor starts a process again when it dies, and ends with it when it ends in good order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.waiting import wait_until

_SUPERVISE = """
import sys
from heliograph.control.supervisor import Supervisor
code = Supervisor().run()
if code is not None:
    sys.exit(code)
program = sys.argv.pop(1)
exec(program)
"""
_DIES_TWICE = """
import os, pathlib, signal, sys
starts = pathlib.Path(sys.argv[1]); starts.write_text(starts.read_text() + "x")
if len(starts.read_text()) < 3:
    os.kill(os.getpid(), signal.SIGKILL)
"""
_ENDS_WITH = "import pathlib, sys; p = pathlib.Path(sys.argv[1]); p.write_text(p.read_text() + 'x'); sys.exit({code})"
_CANNOT_START_A_SECOND_TIME = """
import pathlib, sys
from heliograph.control.supervisor import tell_started
starts = pathlib.Path(sys.argv[1]); starts.write_text(starts.read_text() + "x")
if len(starts.read_text()) == 1:
    tell_started()
    sys.exit(1)
sys.exit(3 if len(starts.read_text()) < 4 else 0)
"""
_DIES_ONCE_IT_MIRRORS = """
import os, pathlib, signal, sys, time
from heliograph.control.supervisor import tell_started
starts = pathlib.Path(sys.argv[1]); starts.write_text(starts.read_text() + f"{time.monotonic()} ")
if len(starts.read_text().split()) == 6:
    sys.exit(0)
tell_started()
os.kill(os.getpid(), signal.SIGKILL)
"""
_WAITS_FOR_TERM = """
import pathlib, signal, sys
from heliograph.control.supervisor import watch_lifeline
starts = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (starts.write_text("terminated"), sys.exit(0)))
gone = watch_lifeline()
starts.write_text("ready")
while not gone.wait(0.05):
    pass
starts.write_text("orphaned")
"""
_DOES_NOT_LISTEN_YET = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text("ready")
time.sleep(60)
"""


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    """Where the supervised program leaves its traces."""
    path = tmp_path / "starts"
    path.write_text("")
    return path


def _supervise(program: str, starts: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _SUPERVISE, program, str(starts)], stderr=subprocess.DEVNULL)


def test_a_killed_process_is_started_again(starts: Path) -> None:
    assert _supervise(_DIES_TWICE, starts).wait(30) == 0
    assert starts.read_text() == "xxx"


@pytest.mark.parametrize("code", [0, 2, 3, 5])
def test_codes_that_a_new_attempt_would_not_change_are_final(starts: Path, code: int) -> None:
    assert _supervise(_ENDS_WITH.format(code=code), starts).wait(30) == code
    assert starts.read_text() == "x"


def test_what_has_started_once_is_tried_again_when_it_cannot_start(starts: Path) -> None:
    assert _supervise(_CANNOT_START_A_SECOND_TIME, starts).wait(30) == 0
    assert starts.read_text() == "xxxx"


def test_a_crash_before_the_first_start_does_not_make_it_worth_trying(starts: Path) -> None:
    program = _CANNOT_START_A_SECOND_TIME.replace("tell_started()", "pass")
    assert _supervise(program, starts).wait(30) == 3
    assert starts.read_text() == "xx"


def test_patience_grows_only_for_what_cannot_start(starts: Path) -> None:
    """Five deaths of a mirror that had mirrored: it is back after the same half second each time."""
    assert _supervise(_DIES_ONCE_IT_MIRRORS, starts).wait(60) == 0
    times = [float(text) for text in starts.read_text().split()]
    shortest = min(later - earlier for earlier, later in pairwise(times[-3:]))  # the shorter one: machines stumble
    assert shortest < 3, "after five deaths the pause would be 10 s if it had doubled each time"


def test_sigterm_is_passed_on_and_ends_it(starts: Path) -> None:
    supervisor = _supervise(_WAITS_FOR_TERM, starts)
    wait_until(lambda: starts.read_text() == "ready", "the process to start")
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(30) == 0
    assert starts.read_text() == "terminated"


def test_whoever_is_stopped_before_it_has_begun_ends_well(starts: Path) -> None:
    supervisor = _supervise(_DOES_NOT_LISTEN_YET, starts)
    wait_until(lambda: starts.read_text() == "ready", "the supervised program")
    supervisor.terminate()
    assert supervisor.wait(10) == 0


def test_the_process_notices_that_its_supervisor_was_killed(starts: Path) -> None:
    supervisor = _supervise(_WAITS_FOR_TERM, starts)
    wait_until(lambda: starts.read_text() == "ready", "the process to start")
    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait()
    wait_until(lambda: starts.read_text() == "orphaned", "the process to notice")
