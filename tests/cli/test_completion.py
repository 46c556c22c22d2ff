"""Shells complete our commands with the scripts that are shipped."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.cli import completion
from tests.programs import own_program

SCRIPTS = Path(__file__).parents[2] / "deploy" / "completion"
BASH = """\
source "$1"
COMP_WORDS=($3) COMP_CWORD=$4
_heliograph_completion "$2"
printf '%s\\n' "${COMPREPLY[@]}"
"""

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs the program bash")


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_scripts_are_up_to_date(shell: str) -> None:
    shipped = (SCRIPTS / f"heliograph.{shell}").read_text(encoding="utf-8")
    assert completion.script(shell) == shipped, "run: python -m heliograph.cli.completion deploy/completion"


def test_scripts_can_be_written_anew(tmp_path: Path) -> None:
    completion.write(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {f"heliograph.{shell}" for shell in completion.SHELLS}


@needs_bash
@pytest.mark.parametrize(
    ("words", "number", "completed"),
    [
        ("heliograph doc", 1, ["doctor"]),
        ("heliograph config ex", 2, ["explain"]),
        ("heliograph run --json", 2, ["--json-log"]),
        ("heliograph status -o j", 3, ["json"]),
    ],
)
def test_bash_completes_commands_options_and_values(
    tmp_path: Path, words: str, number: int, completed: list[str]
) -> None:
    program = own_program(tmp_path / "bin")
    command = ["bash", "-c", BASH, "bash", str(SCRIPTS / "heliograph.bash"), str(program), words, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == completed, done.stderr


@needs_bash
def test_the_program_shows_the_script_of_the_shell_that_one_is_in() -> None:
    command = ["bash", "-c", f"{sys.executable} -m heliograph --show-completion; exit $?"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == completion.script("bash").strip(), done.stderr
