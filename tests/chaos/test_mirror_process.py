"""A mirror that a test has started ends with the tests, however they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.waiting import is_gone, wait_until

_TESTS = """
import sys, time
from pathlib import Path
from tests.chaos.mirror_process import MirrorProcess
from tests.waiting import wait_until
folder = Path(sys.argv[1])
sleeping = [sys.executable, "-c", "import time; time.sleep(300)"]
mirror = MirrorProcess(folder / "mm2.properties", folder / "mirror.log", program=sleeping).supervisor
wait_until(lambda: mirror.cmdline()[:1] == [sys.executable], "it to be started")
print(mirror.pid, flush=True)
time.sleep(300)
"""


def test_a_run_of_tests_that_is_killed_leaves_no_mirror_behind(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _TESTS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        mirror = int(tests.stdout.readline())
        assert not is_gone(mirror)
        tests.kill()
    wait_until(lambda: is_gone(mirror), "the mirror to be gone", 10)
