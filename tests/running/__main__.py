"""`./test`: style, types and tests, in three tiers; says what it does, how long it took, and what failed.

./test                       what every change must pass
./test --quick               style, types, and tests without brokers and Spark
./test --long                everything else, module by module; goes on where it was interrupted
./test --long --again        the same from the beginning
./test tests/policy -k loop  some tests only: all other arguments are pytest's
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from heliograph.cache import cache_folder
from tests.running.long_tier import LongTier
from tests.running.sharing import CORES

_ROOT = Path(__file__).parents[2]
_WITHOUT_BROKERS = "not kafka and not spark and not oracle and not chaos and not long"
_STYLE = {"style: ruff": ["ruff", "check", "."], "format: ruff": ["ruff", "format", "--check", "."]}
_TYPES = ["mypy", "--cache-dir", str(cache_folder() / "mypy")]


def main(arguments: Sequence[str]) -> int:
    """Run a tier; returns 1 if anything in it failed."""
    began = time.monotonic()
    if "--help" in arguments:
        print(__doc__)
        return 0
    # A run starts hundreds of Python processes: none must compile again what another one has compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    failed = [name for name, command in _STYLE.items() if not _step(name, command)]
    types = ThreadPoolExecutor(1).submit(_check_types)  # beside the tests: it has use for one core only
    chosen = [argument for argument in arguments if argument not in ("--quick", "--long", "--again")]
    if "--long" in arguments:
        _say("tests: the long ones")
        is_good = LongTier(_ROOT).run(chosen, is_new="--again" in arguments)
    else:
        is_good = _step("tests: pytest", _pytest(chosen, is_quick="--quick" in arguments))
    failed += [] if types.result() else ["types: mypy"]
    failed += [] if is_good else ["tests"]
    seconds = time.monotonic() - began
    _say(f"{'failed: ' + ', '.join(failed) if failed else 'all passed'} after {seconds / 60:.1f} minutes")
    return 1 if failed else 0


def _pytest(arguments: Sequence[str], is_quick: bool) -> list[str]:
    """All tests are shared among worker processes. Some tests, named by the caller, run in this one."""
    wanted = ["-m", _WITHOUT_BROKERS] if is_quick else [] if "-m" in arguments else ["-m", "not long"]
    workers = CORES if is_quick else CORES + 1
    sharing = [] if any(not item.startswith("-") for item in arguments) else ["-n", str(workers)]
    return ["pytest", "--durations=25", *wanted, *sharing, *arguments]


def _step(name: str, command: Sequence[str]) -> bool:
    _say(name)
    began = time.monotonic()
    is_good = subprocess.run([sys.executable, "-m", *command], check=False).returncode == 0
    _say(f"{name}: {'passed' if is_good else 'FAILED'} after {time.monotonic() - began:.0f} s")
    return is_good


def _check_types() -> bool:
    """Says what it has found at once, in one piece between the lines of the tests."""
    began = time.monotonic()
    found = subprocess.run([sys.executable, "-m", *_TYPES], check=False, capture_output=True, text=True)
    is_good = found.returncode == 0
    output = "" if is_good else f"\n{found.stdout}{found.stderr}"
    _say(f"types: mypy: {'passed' if is_good else 'FAILED'} after {time.monotonic() - began:.0f} s{output}")
    return is_good


def _say(text: str) -> None:
    print(f"heliograph: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.chdir(_ROOT)
    sys.exit(main(sys.argv[1:]))
