"""The `./heliograph` command of a clone: fast, and clear about what is missing."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent
_PYTHON = _ROOT / ".venv" / "bin" / "python"
_TOOLS = ("bash", "cat", "cmp", "cp", "dirname", "env", "id", "mkdir", "readlink", "rm")

pytestmark = pytest.mark.skipif(not _PYTHON.exists(), reason="needs the environment that ./test makes")


def run(command: Sequence[str | Path], path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with only the programs of one folder if one is given."""
    environment = {**os.environ, "PATH": str(path)} if path else None
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


def cpu_seconds(command: Sequence[str | Path]) -> float:
    """How much work a command is, with all that it starts: the least of five times. Other load does not count."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(5):
        before = used()
        assert run(command).returncode == 0
        times.append(used() - before)
    return min(times)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that has never been used: no environment."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("heliograph", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(_ROOT / name, folder / name)
    shutil.copytree(_ROOT / "scripts", folder / "scripts")
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with the usual small programs, but neither Python nor an installer of anything."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in _TOOLS:
        found = shutil.which(name)
        assert found, f"{name} is missing on this system"
        (folder / name).symlink_to(found)
    return folder


def add_python(tools: Path, script: str) -> None:
    """A `python3` that does what the script says."""
    program = tools / "python3"
    program.write_text(f"#!{tools / 'bash'}\n{script}\n")
    program.chmod(0o755)


def test_help_works_from_any_folder(tmp_path: Path) -> None:
    answer = subprocess.run(
        [_ROOT / "heliograph", "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )

    assert answer.returncode == 0
    assert "mm2.properties" in answer.stdout
    assert answer.stderr == ""


def test_the_wrapper_works_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "heliograph").symlink_to(_ROOT / "heliograph")

    assert run([tmp_path / "heliograph", "--help"]).returncode == 0


@pytest.mark.parametrize(
    ("name", "option"), [("connect-mirror-maker", "--clusters"), ("kafka-mirror-maker", "--whitelist")]
)
def test_the_commands_of_old_work_from_a_clone_and_through_a_link(tmp_path: Path, name: str, option: str) -> None:
    (tmp_path / name).symlink_to(_ROOT / "bin" / name)
    for command in (_ROOT / "bin" / name, tmp_path / name):
        answer = run([command, "--help"])
        assert answer.returncode == 0
        assert option in answer.stdout


def test_the_wrapper_adds_next_to_nothing_to_a_second_start() -> None:
    direct = cpu_seconds([_PYTHON, "-m", "heliograph", "--help"])
    wrapped = cpu_seconds([_ROOT / "heliograph", "--help"])

    print(f"python -m heliograph: {direct:.2f} s, ./heliograph: {wrapped:.2f} s")
    assert wrapped - direct < 0.1


def test_missing_python_is_one_clear_sentence(clone: Path, tools: Path) -> None:
    answer = run([clone / "heliograph", "--help"], path=tools)

    assert answer.returncode == 3
    assert answer.stdout == ""
    assert answer.stderr.startswith("heliograph: needs Python 3.11 or newer, and found none on PATH: install it")
    assert answer.stderr.count("\n") == 1
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize("script", ["exit 1", "exec /nowhere/python3"])
def test_a_python_that_is_too_old_or_broken_counts_as_missing(clone: Path, tools: Path, script: str) -> None:
    add_python(tools, script)

    answer = run([clone / "heliograph", "--help"], path=tools)

    assert answer.returncode == 3
    assert "needs Python 3.11 or newer" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_environment_that_cannot_be_made_is_told_and_tried_again_next_time(clone: Path, tools: Path) -> None:
    add_python(tools, '[ "$1" = -c ] && exit 0; echo "no space left on device" >&2; exit 1')

    for _ in range(2):
        answer = run([clone / "heliograph", "--help"], path=tools)
        assert answer.returncode == 3
        assert "first use: making a Python environment" in answer.stderr
        assert answer.stderr.splitlines()[-1].startswith("heliograph: could not make the environment")
    assert not (clone / ".venv" / "lock").exists()


def test_a_config_mistake_is_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("clusters = a, b\na.bootstrap.servers = one:9092\na->b.enabled = perhaps\n")

    answer = run([_ROOT / "heliograph", "config", "check", file])

    assert answer.returncode == 2
    assert "Traceback" not in answer.stdout + answer.stderr
    assert "perhaps" in answer.stderr
    assert "b.bootstrap.servers" in answer.stderr


def test_a_missing_file_is_no_traceback(tmp_path: Path) -> None:
    answer = run([_ROOT / "heliograph", "config", "check", tmp_path / "nowhere.properties"])

    assert answer.returncode == 2
    assert "Traceback" not in answer.stdout + answer.stderr
    assert "nowhere.properties" in answer.stdout + answer.stderr
