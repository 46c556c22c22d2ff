"""Tests run in a copy of the project in which something is wrong."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from heliograph.embedded.cluster import KEEP_LOGS
from tests.mutations.defect import Defect

ROOT = Path(__file__).parents[2]
# All that tests may look at; what builds and runs leave about stays behind.
_COPIED = (
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "bench", "bin", "deploy", "docs", "heliograph",
    "mkdocs.yml", "pyproject.toml", "requirements-dev.lock", "requirements.lock", "scripts", "src", "test", "tests",
)  # fmt: skip
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".heliograph", ".hypothesis")
# The list of defects decides nothing about one of them: a new one leaves the verdicts on the others as they are.
_NOT_JUDGED_BY = Path("tests/mutations/defects.py")
_FAILED = 1  # pytest's exit code for tests that failed
_TEST_SECONDS = 120
_RUN_SECONDS = 600
_ALL_SECONDS = 1800
_CLEANUP_SECONDS = 30
_SHOWN_LINES = 25


class Verdict(Enum):
    """What became of a defect."""

    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    NOT_APPLIED = "cannot be applied"
    NOT_JUDGED = "NOT JUDGED"  # the run ended otherwise than by a test that passed or failed


@dataclass(frozen=True)
class Outcome:
    """How a run of tests ended: which failed, which could not begin, and what was printed."""

    code: int
    failed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    passed: int = 0
    output: str = field(default="", repr=False)

    @property
    def is_green(self) -> bool:
        """Whether tests ran, and all of them passed."""
        return self.code == 0 and self.passed > 0 and not self.broken

    @property
    def is_whole(self) -> bool:
        """Whether all tests ran to their end, so that those which are not named as failed or broken have passed."""
        return self.code == 0 or (self.code == _FAILED and bool(self.failed or self.broken))

    def verdict(self) -> Verdict:
        """What it means for a defect: only a test that failed by its own judgement has caught it."""
        if self.code == _FAILED and self.failed:
            return Verdict.CAUGHT
        return Verdict.SURVIVED if self.is_green else Verdict.NOT_JUDGED

    def last_lines(self) -> str:
        """The end of what was printed."""
        return "\n".join(self.output.splitlines()[-_SHOWN_LINES:])


@dataclass(frozen=True)
class Result:
    """What became of one defect, and in what time."""

    defect: Defect
    verdict: Verdict
    seconds: float
    by: tuple[str, ...] = ()
    reason: str = ""


class Trial:
    """A copy of a project, in which one defect after the other is made and taken back."""

    def __init__(self, folder: Path, root: Path = ROOT, package: str = "heliograph") -> None:
        """`folder` must be empty."""
        self._folder = folder
        self._package = package
        self._stamp = time.time() - 1_000_000
        self._process: subprocess.Popen[str] | None = None
        self._is_over = False
        for name in _COPIED:
            path = root / name
            if path.is_dir():
                shutil.copytree(path, folder / name, ignore=_LEFT_OUT)
            elif path.exists():
                shutil.copy2(path, folder / name)

    @property
    def source(self) -> Path:
        """The folder of the copied package."""
        return self._folder / "src" / self._package

    def code(self) -> str:
        """A name of what was copied: two copies with the same name have the same verdicts."""
        found = hashlib.sha256()
        for file in sorted(self._folder.rglob("*")):
            name = file.relative_to(self._folder)
            if file.is_file() and "__pycache__" not in name.parts and name != _NOT_JUDGED_BY:
                found.update(f"{name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
        return found.hexdigest()[:16]

    def end(self) -> None:
        """End the run that is under way, from another thread; none begins after it."""
        self._is_over = True
        if process := self._process:
            _interrupt(process, process.wait)

    def check_import(self) -> None:
        """Make sure that it is the copy that tests import, and not what is installed."""
        code = f"import {self._package}; print({self._package}.__file__)"
        found = subprocess.run(
            [sys.executable, "-c", code], cwd=self._folder, env=self._environment(), capture_output=True, text=True
        )
        if Path(found.stdout.strip()) != self.source / "__init__.py":
            raise RuntimeError(f"tests would import {found.stdout.strip() or found.stderr}, and not the copy")

    def run(self, tests: Sequence[str], is_over_at_the_first: bool = True) -> Outcome:
        """Run tests in the copy as it is."""
        report = self._folder / "report.xml"
        seconds = _RUN_SECONDS if is_over_at_the_first else _ALL_SECONDS
        report.unlink(missing_ok=True)
        command = [
            sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short", f"--timeout={_TEST_SECONDS}",
            f"--junitxml={report}", *(["-x"] if is_over_at_the_first else []), *tests,
        ]  # fmt: skip
        output, code = self._output_of(command, seconds)
        return Outcome(-1, output=output) if code is None else _outcome(code, output, report)

    def _output_of(self, command: Sequence[str], seconds: float) -> tuple[str, int | None]:
        """What a run prints, and its exit code; None if it did not end by itself, whatever its report says."""
        if self._is_over:
            return "ended from outside", None
        # In a group of its own: an interrupt from the terminal reaches the runner alone, which ends all runs.
        with subprocess.Popen(
            command, cwd=self._folder, env=self._environment(), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        ) as process:  # fmt: skip
            self._process = process
            if self._is_over:
                _interrupt(process, process.communicate)
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                _interrupt(process, process.communicate)
                return f"no end after {seconds:.0f} s", None
            finally:
                self._process = None
        return ("ended from outside", None) if self._is_over else (output, process.returncode)

    def judge(self, defect: Defect) -> Result:
        """Make the defect, run its tests, take it back."""
        began = time.monotonic()
        path = defect.path(self.source)
        before = path.read_text() if path.exists() else ""
        try:
            self._write(path, defect.applied_to(before))
        except ValueError as error:
            return Result(defect, Verdict.NOT_APPLIED, 0.0, reason=str(error))
        try:
            outcome = self.run(defect.tests)
        finally:
            self._write(path, before)
        verdict = outcome.verdict()
        reason = "" if verdict is Verdict.CAUGHT else outcome.last_lines()
        return Result(defect, verdict, time.monotonic() - began, outcome.failed, reason)

    def _write(self, path: Path, text: str) -> None:
        """With a time of its own: compiled files are told apart by time and size, and defects may be of one size."""
        path.write_text(text)
        self._stamp += 10
        os.utime(path, (self._stamp, self._stamp))

    def _environment(self) -> dict[str, str]:
        """As here, but the copy comes first, chance is the same each time, and no run knows of another one."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTEST_") and name != KEEP_LOGS
        }
        return kept | {"PYTHONPATH": str(self._folder / "src"), "HELIOGRAPH_SEED": "1"}


def _outcome(code: int, output: str, report: Path) -> Outcome:
    if not report.exists():
        return Outcome(code, output=output)
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = [_name(case) for case in cases if case.find("failure") is not None]
    broken = [_name(case) for case in cases if case.find("error") is not None]
    unjudged = [case for case in cases if case.find("skipped") is not None]
    passed = len(cases) - len(failed) - len(broken) - len(unjudged)
    return Outcome(code, tuple(failed), tuple(broken), passed, output)


def _interrupt(process: subprocess.Popen[str], wait: Callable[..., object]) -> None:
    """As Ctrl-C does, so that pytest stops its brokers and deletes their files; by force if that takes long."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
        try:
            wait(timeout=_CLEANUP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"


def junit_name(file: str) -> str:
    """How reports name a module of tests."""
    return file.removesuffix(".py").replace("/", ".").removeprefix("tests.")
