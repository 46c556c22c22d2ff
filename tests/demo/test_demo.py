"""`heliograph demo` as a user runs it: equal at the end, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil
import pytest
from rich.console import Console

from heliograph.demo.demonstration import Demonstration
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_MARK = "HELIOGRAPH_DEMO_TEST"


@contextmanager
def _demo(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The demo in a folder of its own; its whole process tree carries a mark in the environment."""
    environment = {**os.environ, _MARK: str(folder), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "heliograph", "demo", "-o", "json", *options]
    with open(folder / "demo.log", "a") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder, env=environment, start_new_session=True
        )
    try:
        yield process
    finally:
        for left in _marked(folder):
            left.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _report(process: subprocess.Popen[str], folder: Path) -> dict[str, Any]:
    """What the demo printed at its end, which must be a good one that leaves no process running."""
    printed, _ = process.communicate(timeout=110)
    assert process.returncode == 0, (folder / "demo.log").read_text()[-3000:]
    wait_until(lambda: not _marked(folder), "all processes of the demo to be gone", 10)
    return dict(json.loads(printed))


def _marked(folder: Path) -> list[psutil.Process]:
    """All processes of the demo that still run."""
    return [process for process in psutil.process_iter() if _mark_of(process) == str(folder)]


def _mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(_MARK)
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        return None


def _expect_all_well(report: dict[str, Any], folder: Path) -> None:
    """The copy is equal, there was something to copy, and no file is left behind."""
    assert report["equal"] is True
    assert report["differences"] == []
    assert report["records"] > 100
    assert report["transactions"] > 0
    assert not list(folder.glob("heliograph-*"))
    assert not (folder / ".heliograph").exists()


def test_its_page_answers_until_ctrl_c_ends_it_with_the_report(tmp_path: Path) -> None:
    with _demo(tmp_path) as process:
        wait_until(lambda: "/ui/" in (tmp_path / "demo.log").read_text(), "the page's address", 60)
        page = next(word for word in (tmp_path / "demo.log").read_text().split() if word.endswith("/ui/"))
        answer = httpx.get(page, timeout=30)
        assert answer.status_code == 200
        assert "text/html" in answer.headers["content-type"]
        root = page.removesuffix("/ui/")
        assert "MirrorSourceConnector" in httpx.get(f"{root}/connectors", timeout=30).json()
        wait_until(lambda: _mirrored(root) > 100, "more than a hundred records", 90, 0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        report = _report(process, tmp_path)
    _expect_all_well(report, tmp_path)


def _mirrored(root: str) -> int:
    return sum(int(flow["records_total"]) for flow in httpx.get(f"{root}/api/v1/flows", timeout=30).json())


@pytest.mark.parametrize(("seconds", "is_over"), [(None, False), (3600.0, False), (0.0, True)])
def test_it_ends_when_its_time_is_over_or_at_once_when_it_is_interrupted(seconds: float | None, is_over: bool) -> None:
    demonstration = Demonstration(seconds, 1, None, Console(quiet=True))
    well = SimpleNamespace(failure=None)
    ends = demonstration._is_over(well, well)  # type: ignore[arg-type]
    assert ends([]) is is_over
    demonstration._interrupted = True
    assert ends([]) is True


@pytest.mark.long
def test_it_ends_by_itself_equal_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with _demo(tmp_path, "--seconds", "8") as process:
        report = _report(process, tmp_path)
    _expect_all_well(report, tmp_path)


@pytest.mark.long
def test_kept_data_is_gone_on_with(tmp_path: Path) -> None:
    reports = []
    for _ in range(2):
        with _demo(tmp_path, "--seconds", "3", "--keep") as process:
            reports.append(_report(process, tmp_path))
    first, second = reports
    assert first["equal"] is second["equal"] is True
    assert second["records"] > first["records"] > 0
    assert (tmp_path / first["folder"] / "mm2.properties").exists()
