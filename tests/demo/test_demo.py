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
from typing import Any

import httpx
import psutil
import pytest

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


def test_it_ends_by_itself_equal_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with _demo(tmp_path, "--seconds", "8") as process:
        report = _report(process, tmp_path)
    assert report["equal"] is True
    assert report["differences"] == []
    assert report["records"] > 100
    assert report["transactions"] > 0
    assert not list(tmp_path.glob("heliograph-*"))
    assert not (tmp_path / ".heliograph").exists()


def test_its_page_answers_until_ctrl_c_ends_it_with_the_report(tmp_path: Path) -> None:
    with _demo(tmp_path) as process:
        wait_until(lambda: "/ui/" in (tmp_path / "demo.log").read_text(), "the page's address", 60)
        page = next(word for word in (tmp_path / "demo.log").read_text().split() if word.endswith("/ui/"))
        answer = httpx.get(page)
        assert answer.status_code == 200
        assert "text/html" in answer.headers["content-type"]
        connectors = httpx.get(page.removesuffix("ui/") + "connectors").json()
        assert "MirrorSourceConnector" in connectors
        process.send_signal(signal.SIGINT)
        assert _report(process, tmp_path)["equal"] is True
    assert not list(tmp_path.glob("heliograph-*"))


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
