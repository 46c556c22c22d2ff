"""The manual page that is shipped is that of this program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from heliograph.cli import manual
from heliograph.errors import HeliographError

PAGE = Path(__file__).parents[2] / "docs" / "man" / "heliograph.1"


def test_the_page_is_up_to_date() -> None:
    current = PAGE.read_text(encoding="utf-8")
    assert manual.page() == current, "run: python -m heliograph.cli.manual docs/man/heliograph.1"


def test_every_command_and_exit_code_is_in_it() -> None:
    page = manual.page()
    for name in ("run [file]", "config check [file]", "doctor [file]", "version", "token {name}"):
        assert f".SS heliograph {name}\n" in page
    codes = {kind.exit_code for kind in _all_errors(HeliographError)}
    assert codes <= set(manual.EXIT_CODES)


def _all_errors(kind: type[HeliographError]) -> list[type[HeliographError]]:
    return [kind, *(found for child in kind.__subclasses__() for found in _all_errors(child))]


def test_text_is_never_taken_for_a_request() -> None:
    assert manual.escaped(".nf") == r"\&.nf"
    assert manual.escaped("'so") == r"\&'so"
    assert manual.escaped(r"a\b --c") == r"a\eb \-\-c"


@pytest.mark.skipif(shutil.which("man") is None, reason="needs the program man")
def test_man_shows_it_without_complaint() -> None:
    command = ["man", "--warnings", "--local-file", str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "heliograph doctor" in done.stdout
