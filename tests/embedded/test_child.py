"""A child process ends when it should, never later than its parent, and tells why it failed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from heliograph.embedded.child import ChildProcess
from heliograph.errors import ProcessFailed
from tests.waiting import is_gone, wait_until

_PARENT = """
import sys, time
from pathlib import Path
from heliograph.embedded.child import ChildProcess
child = ChildProcess("nested", ["/bin/sh", "-c", "sleep 300 & sleep 300"], Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(300)
"""

_POLITE = """
import signal, sys
def leave(*_):
    print("bye", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, leave)
print("up", flush=True)
signal.pause()
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where a child writes."""
    return tmp_path / "logs" / "child.log"


@pytest.fixture
def sleeper(log: Path) -> Iterator[ChildProcess]:
    """A child that does nothing for a long time."""
    child = ChildProcess("sleeper", ["sleep", "300"], log)
    yield child
    child.kill()


def members_of_group(group: int) -> list[psutil.Process]:
    """The living processes of a process group."""
    return [
        process
        for process in psutil.process_iter(["pid", "status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE and _group(process.info["pid"]) == group
    ]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_a_child_and_its_helpers_end_when_the_parent_is_killed(log: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", _PARENT, str(log)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as output:
        child = int(output.readline())
    wait_until(lambda: len(members_of_group(child)) >= 3, "the whole group")

    parent.kill()
    parent.wait()

    wait_until(lambda: not members_of_group(child), "the group to be gone", 10)


def test_a_stopped_child_leaves_no_watcher_behind(sleeper: ChildProcess) -> None:
    wait_until(lambda: len(members_of_group(sleeper.pid)) == 2, "both processes")

    sleeper.stop()

    wait_until(lambda: not members_of_group(sleeper.pid), "the group to be gone", 10)


def test_a_child_that_ended_by_itself_leaves_no_watcher_behind(log: Path) -> None:
    child = ChildProcess("short", ["true"], log)

    wait_until(lambda: not child.is_running, "the child to end")
    wait_until(lambda: not members_of_group(child.pid), "the group to be gone", 10)


def test_the_number_of_an_ended_child_is_not_killed_because_it_may_be_anothers(log: Path) -> None:
    child = ChildProcess("short", ["/bin/sh", "-c", "sleep 300 & echo $!"], log)
    wait_until(lambda: not child.is_running, "the child to end")
    survivor = int(child.output())

    child.stop()

    wait_until(lambda: [each.pid for each in members_of_group(child.pid)] == [survivor], "the survivor alone")
    os.kill(survivor, signal.SIGKILL)


def test_the_process_id_is_that_of_the_program(sleeper: ChildProcess) -> None:
    wait_until(lambda: psutil.Process(sleeper.pid).cmdline() == ["sleep", "300"], "the sleeper")


def test_stop_is_kind(log: Path) -> None:
    child = ChildProcess("kind", [sys.executable, "-c", _POLITE], log)
    child.wait_until(lambda: "up" in child.output(), 10)

    child.stop()

    assert child.exit_code == 7
    assert child.output() == "up\nbye\n"


def test_stop_uses_force_after_its_timeout(log: Path) -> None:
    child = ChildProcess("stubborn", ["/bin/sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.05; done"], log)
    child.wait_until(lambda: "up" in child.output(), 10)

    child.stop(timeout=0.3)

    assert child.exit_code == -signal.SIGKILL


def test_a_frozen_child_stops_without_waiting_for_force(sleeper: ChildProcess) -> None:
    sleeper.signal(signal.SIGSTOP)
    wait_until(lambda: psutil.Process(sleeper.pid).status() == psutil.STATUS_STOPPED, "the sleeper to stop")
    began = time.monotonic()

    sleeper.stop(timeout=60)

    assert sleeper.exit_code == -signal.SIGTERM
    assert time.monotonic() - began < 30


def test_kill_is_immediate_and_may_be_repeated(sleeper: ChildProcess) -> None:
    sleeper.kill()
    sleeper.kill()
    sleeper.stop()

    assert sleeper.exit_code == -signal.SIGKILL
    assert is_gone(sleeper.pid)


def test_an_early_end_is_told_with_its_code_and_last_lines(log: Path) -> None:
    child = ChildProcess("broken", ["/bin/sh", "-c", "seq 100; echo the reason; exit 5"], log)

    with pytest.raises(ProcessFailed, match="broken ended with code 5") as failure:
        child.wait_until(lambda: False, 10)

    lines = str(failure.value).splitlines()
    assert lines[-1] == "the reason"
    assert "100" in lines
    assert "1" not in lines


def test_an_error_is_told_also_when_much_was_written_after_it(log: Path) -> None:
    script = "echo '[t] ERROR the reason (c)'; seq 100; exit 5"
    child = ChildProcess("broken", ["/bin/sh", "-c", script], log)

    with pytest.raises(ProcessFailed, match=r"code 5:\n\[t\] ERROR the reason \(c\)\n86\n"):
        child.wait_until(lambda: False, 10)


def test_a_late_child_is_told_with_its_last_lines(log: Path) -> None:
    child = ChildProcess("slow", ["/bin/sh", "-c", "echo still loading; exec sleep 300"], log)

    with pytest.raises(ProcessFailed, match=r"slow was not ready within 1 s(?s:.*)still loading"):
        child.wait_until(lambda: False, 1)
    child.kill()


def test_output_is_that_of_this_start_alone(log: Path) -> None:
    first = ChildProcess("echo", ["echo", "first"], log)
    wait_until(lambda: not first.is_running, "the first to end")

    second = ChildProcess("echo", ["echo", "second"], log)
    wait_until(lambda: not second.is_running, "the second to end")

    assert second.output() == "second\n"
    assert log.read_text() == "first\nsecond\n"


def test_the_environment_is_extended(log: Path) -> None:
    child = ChildProcess("env", ["/bin/sh", "-c", 'echo "$GREETING ${PATH:+path}"'], log, {"GREETING": "hello"})

    wait_until(lambda: not child.is_running, "the child to end")
    assert child.output() == "hello path\n"
