"""Runs of pytest with this project's own settings: what a failure leaves behind, chance, and the long tier."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.long_tier import LongTier

_ROOT = Path(__file__).parents[2]
_CHANCE = """
from hypothesis import given, strategies as some
drawn = []
@given(some.integers())
def test_numbers(number):
    drawn.append(number)
def test_shown(tell):
    tell(f"drawn by Hypothesis {drawn}")
def test_chance(chance, tell):
    tell(f"drawn by chance {chance.random()}")
"""
_FAILS = """
def test_it_fails(tmp_path, tmp_path_factory):
    (tmp_path / "mirror.log").write_text("what the mirror said")
    tmp_path_factory.mktemp("shared").joinpath("other.log").write_text("what another said")
    assert False
"""
_LONG = """
import pathlib, pytest
@pytest.mark.long
def test_it():
    with open(pathlib.Path(__file__).with_suffix(".runs"), "a") as file:
        file.write("x")
    assert "{result}" == "good"
"""


def _pytest(folder: Path, text: str, **environment: str) -> str:
    file = folder / "test_sample.py"
    file.write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", str(_ROOT / "pyproject.toml"), str(file)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HELIOGRAPH", "PYTEST"))}
    kept["CI"] = "true"
    ran = subprocess.run(
        command, cwd=_ROOT, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    return ran.stdout


def _drawn(output: str) -> dict[str, str]:
    found = dict(re.findall(r"drawn by (\w+) (.+)", output))
    assert found.keys() == {"Hypothesis", "chance"}
    return found


def test_every_run_has_another_seed_and_one_variable_brings_it_back(tmp_path: Path) -> None:
    first, second = _pytest(tmp_path, _CHANCE), _pytest(tmp_path, _CHANCE)
    drawn, others = _drawn(first), _drawn(second)
    assert all(drawn[name] != others[name] for name in drawn)
    [seed] = re.findall(r"HELIOGRAPH_SEED=(\d+) before the command", first)
    assert _drawn(_pytest(tmp_path, _CHANCE, HELIOGRAPH_SEED=seed)) == drawn


def test_a_failure_keeps_its_logs_and_says_where_and_how_to_have_it_again(tmp_path: Path) -> None:
    output = _pytest(tmp_path, _FAILS)
    [folder] = [Path(place) for place in re.findall(r"^logs: (.+)$", output, re.MULTILINE)]
    kept = {file.name: file.read_text() for file in folder.rglob("*.log")}
    again = (folder / "again.txt").read_text()
    shutil.rmtree(folder)  # it is no failure of this run
    assert kept == {"mirror.log": "what the mirror said", "other.log": "what another said"}
    assert re.fullmatch(r"HELIOGRAPH_SEED=\d+ ./test '.*::test_it_fails'\n", again)
    assert f"\nagain: {again}" in output


def test_the_long_tier_goes_on_where_it_was_and_runs_changed_code_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, result in {"first": "good", "second": "bad"}.items():
        (tmp_path / f"test_{name}.py").write_text(_LONG.format(result=result))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.runs\n__pycache__\n.heliograph\n.pytest_cache\n")
    runs = [tmp_path / f"test_{name}.runs" for name in ("first", "second")]
    tier = LongTier(tmp_path)

    assert not tier.run()
    assert not tier.run()
    assert [file.read_text() for file in runs] == ["x", "xx"]
    (tmp_path / "test_second.py").write_text(_LONG.format(result="good"))
    capfd.readouterr()
    assert tier.run()
    assert [file.read_text() for file in runs] == ["xx", "xxx"]
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 0 failed, 0 skipped"
    assert "the 25 slowest of them" in lines
    (tmp_path / ".heliograph" / "mutations").mkdir()  # what the runner of deliberate defects knows
    assert tier.run(is_new=True)
    assert not (tmp_path / ".heliograph" / "mutations").exists()
    assert [file.read_text() for file in runs] == ["xxx", "xxxx"]
