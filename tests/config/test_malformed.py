"""Every malformed file ends with code 2 and exactly the lines in the .expected file beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.cli.main import main

FOLDER = Path(__file__).parent / "malformed"
FILES = sorted(FOLDER.glob("*.properties"))


def test_there_are_enough_cases() -> None:
    assert len(FILES) >= 40


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_malformed_files_are_refused_with_these_words(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", file.name])
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert shown.out == ""
    assert shown.err == file.with_suffix(".expected").read_text(encoding="utf-8")
    assert "canary-password" not in shown.err


@pytest.mark.parametrize("file", FILES[::12], ids=lambda file: file.stem)
def test_the_same_in_a_process_of_its_own(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "heliograph", "config", "check", file.name],
        cwd=FOLDER,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == file.with_suffix(".expected").read_text(encoding="utf-8")
