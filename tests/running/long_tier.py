"""The long tests, module by module: what has passed with the same code is not run again, and a table sums it up."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from tests.running import durations

_SLOWEST = 25
_PYTEST = [sys.executable, "-m", "pytest", "-m", "long"]


@dataclass(frozen=True)
class Outcome:
    """How the long tests of one module ended."""

    module: str
    is_good: bool
    passed: int
    failed: int
    skipped: int
    seconds: float

    def __str__(self) -> str:
        word = "passed" if self.is_good else "FAILED"
        return f"{word}  {self.passed:4} {self.failed:4} {self.skipped:4} {self.seconds:7.0f} s  {self.module}"


@dataclass(frozen=True)
class LongTier:
    """The long tests of the clone in this folder."""

    root: Path

    def run(self, arguments: Sequence[str] = (), is_new: bool = False) -> bool:
        """Run what has not passed yet; returns whether all has."""
        state = self._folder / f"{self._code()}.json"
        if is_new:
            state.unlink(missing_ok=True)
            shutil.rmtree(self.root / ".heliograph" / "mutations", ignore_errors=True)  # what tests.mutations knows
        known = _read(state)
        modules = self._modules(arguments)
        for number, module in enumerate(modules, 1):
            place = f"[{number}/{len(modules)}] {module}"
            if module in known and known[module].is_good:
                print(f"{place}: has passed with this code before", flush=True)
                continue
            print(place, flush=True)
            known[module] = self._run(module, arguments)
            state.write_text(json.dumps([asdict(item) for item in known.values()], indent=1))
        outcomes = [known[module] for module in modules]
        _show_slowest(self._merged_durations(modules))
        _sum_up(outcomes)
        return bool(outcomes) and all(item.is_good for item in outcomes)

    @property
    def _folder(self) -> Path:
        folder = self.root / ".heliograph" / "long"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _modules(self, arguments: Sequence[str]) -> list[str]:
        command = [*_PYTEST, "--collect-only", "-q", *arguments]
        listed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.root).stdout
        return list(dict.fromkeys(line.partition("::")[0] for line in listed.splitlines() if "::" in line))

    def _run(self, module: str, arguments: Sequence[str]) -> Outcome:
        report = self._folder / "junit.xml"
        report.unlink(missing_ok=True)
        options = [item for item in arguments if not item.startswith("tests")]
        began = time.monotonic()
        command = [*_PYTEST, "--durations=25", f"--junitxml={report}", module, *options]
        code = subprocess.run(command, check=False, cwd=self.root).returncode
        self._keep_durations(module)
        seconds = time.monotonic() - began
        if not report.exists():
            return Outcome(module, False, 0, 1, 0, seconds)
        suite = Xml.parse(report).getroot().find("testsuite")
        assert suite is not None
        total, errors, failures, skipped = (
            int(suite.get(name, 0)) for name in ("tests", "errors", "failures", "skipped")
        )
        failed = errors + failures
        return Outcome(module, code == 0, max(0, total - failed - skipped), failed, skipped, seconds)

    def _keep_durations(self, module: str) -> None:
        """Each module is a run of pytest, which writes its own durations: keep them for the whole tier."""
        found = self.root / ".heliograph" / "durations.json"
        if found.exists():
            self._durations_of(module).write_bytes(found.read_bytes())

    def _durations_of(self, module: str) -> Path:
        return self._folder / f"durations-{module.replace('/', '-')}.json"

    def _merged_durations(self, modules: Sequence[str]) -> dict[str, float]:
        """The seconds of all tests of the tier, as each ran last; written where every run writes them."""
        merged: dict[str, float] = {}
        for module in modules:
            file = self._durations_of(module)
            merged.update(json.loads(file.read_text())["tests"] if file.exists() else {})
        durations.write(self.root / ".heliograph" / "durations.json", merged)
        return merged

    def _code(self) -> str:
        """A name of the code as it is: the commit, what was changed since, and what is new."""
        parts = [self._git("rev-parse", "HEAD"), self._git("diff", "HEAD")]
        for name in sorted(self._git("ls-files", "--others", "--exclude-standard", "-z").split(b"\0")):
            file = self.root / name.decode()
            parts += [name, file.read_bytes() if file.is_file() else b""]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    def _git(self, *arguments: str) -> bytes:
        return subprocess.run(["git", *arguments], capture_output=True, check=False, cwd=self.root).stdout


def _sum_up(outcomes: Sequence[Outcome]) -> None:
    print("\nlong tests  passed, failed, skipped, seconds")
    for item in outcomes:
        print(item)
    sums = [f"{sum(getattr(item, name) for item in outcomes)} {name}" for name in ("passed", "failed", "skipped")]
    print(", ".join(sums), flush=True)


def _show_slowest(seconds: Mapping[str, float]) -> None:
    print(f"\nthe {_SLOWEST} slowest of them")
    for test, taken in sorted(seconds.items(), key=lambda item: -item[1])[:_SLOWEST]:
        print(f"{taken:7.1f} s  {test}")


def _read(state: Path) -> dict[str, Outcome]:
    found = json.loads(state.read_text()) if state.exists() else []
    return {item["module"]: Outcome(**item) for item in found}
