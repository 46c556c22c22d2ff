"""The runner itself tells a defect that is caught from one that survives, and both from one that proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutations.defect import Defect
from tests.mutations.runner import chosen, judge_all, summary, write_report
from tests.mutations.trial import Result, Trial, Verdict

_CODE = """def larger(one, other):
    return one if one > other else other


def twice(number):
    return number + number
"""
_TESTS = """import pytest

from toy.numbers import larger, twice


def test_larger():
    assert larger(1, 2) == 2


def test_twice_of_nothing():
    assert twice(0) == 0


@pytest.fixture
def four():
    return [4][twice(2) - 4]


def test_four(four):
    assert four == 4


def test_that_is_skipped():
    pytest.skip("always")
"""
_SETTINGS = """[tool.pytest.ini_options]
addopts = "-p no:hypothesispytest -p no:xdist -p no:anyio -p no:cacheprovider"
"""
_CAUGHT = Defect("caught", "The larger one counts.", "numbers.py", "one > other", "one < other", ("tests/test_toy.py",))
_SURVIVES = Defect(
    "survives",
    "Twice is twice.",
    "numbers.py",
    "number + number",
    "number",
    ("tests/test_toy.py::test_twice_of_nothing",),
)
_GONE = Defect("gone", "Nobody knows.", "numbers.py", "three", "four", ("tests/test_toy.py",))
_AMBIGUOUS = Defect("ambiguous", "Nobody knows.", "numbers.py", "number", "figure", ("tests/test_toy.py",))
_NO_CODE = Defect("no-code", "Nobody knows.", "numbers.py", "one > other", "one >", ("tests/test_toy.py",))
_SAME = Defect("same", "Nobody knows.", "numbers.py", "one > other", "(one > other)", ("tests/test_toy.py",))
_NO_IMPORT = Defect(
    "no-import", "Nobody knows.", "numbers.py", "def twice", "def double", ("tests/test_toy.py::test_larger",)
)
_FIXTURE = Defect(
    "fixture", "Nobody knows.", "numbers.py", "number + number", "number * 9", ("tests/test_toy.py::test_four",)
)
_NO_TEST = Defect(
    "no-test", "Nobody knows.", "numbers.py", "one > other", "one < other", ("tests/test_toy.py::test_x",)
)
_SKIPPED = Defect(
    "skipped", "Nobody knows.", "numbers.py", "one > other", "one < other", ("tests/test_toy.py::test_that_is_skipped",)
)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    project = tmp_path / "project"
    (project / "src" / "toy").mkdir(parents=True)
    (project / "src" / "toy" / "__init__.py").touch()
    (project / "src" / "toy" / "numbers.py").write_text(_CODE)
    (project / "tests").mkdir()
    (project / "tests" / "test_toy.py").write_text(_TESTS)
    (project / "pyproject.toml").write_text(_SETTINGS)
    copy = tmp_path / "copy"
    copy.mkdir()
    return Trial(copy, project, "toy")


def test_a_defect_is_caught_by_a_test_that_fails_and_then_taken_back(trial: Trial) -> None:
    result = trial.judge(_CAUGHT)
    assert (result.verdict, result.by) == (Verdict.CAUGHT, ("test_toy::test_larger",))
    assert (trial.source / "numbers.py").read_text() == _CODE
    assert trial.run(_CAUGHT.tests).is_green


@pytest.mark.parametrize(
    ("defect", "verdict"),
    [
        (_SURVIVES, Verdict.SURVIVED),
        (_GONE, Verdict.NOT_APPLIED),
        (_AMBIGUOUS, Verdict.NOT_APPLIED),
        (_NO_CODE, Verdict.NOT_APPLIED),
        (_SAME, Verdict.NOT_APPLIED),
        (_NO_IMPORT, Verdict.NOT_JUDGED),
        (_FIXTURE, Verdict.NOT_JUDGED),
        (_NO_TEST, Verdict.NOT_JUDGED),
        (_SKIPPED, Verdict.NOT_JUDGED),
    ],
    ids=lambda item: item.name,
)
def test_nothing_else_counts_as_caught(trial: Trial, defect: Defect, verdict: Verdict) -> None:
    result = trial.judge(defect)
    assert result.verdict is verdict, result.reason
    assert result.reason
    assert (trial.source / "numbers.py").read_text() == _CODE


def test_all_are_judged_and_told(trial: Trial, tmp_path: Path) -> None:
    lines: list[str] = []
    results = judge_all([_CAUGHT, _SURVIVES], trial, lines.append)
    assert len(lines) == 3
    assert lines[1].startswith("[1/2]")
    assert "caught: caught by test_toy::test_larger" in lines[1]
    assert "survives: SURVIVED" in lines[2]
    assert summary(results).startswith("2 defects: 1 caught, 1 SURVIVED; ")
    write_report(results, tmp_path / "report")
    told = json.loads((tmp_path / "report" / "mutations.json").read_text())
    assert [(item["name"], item["verdict"]) for item in told] == [("caught", "caught"), ("survives", "SURVIVED")]
    assert "| survives | Twice is twice. | SURVIVED |" in (tmp_path / "report" / "mutations.md").read_text()


def test_tests_that_fail_without_a_defect_prove_nothing(trial: Trial) -> None:
    (trial.source / "numbers.py").write_text(_CODE.replace("one > other", "one < other"))
    with pytest.raises(RuntimeError, match="without a defect, tests do not pass"):
        judge_all([_SURVIVES, Defect("other", "", "numbers.py", "one", "two", ("tests/test_toy.py",))], trial, print)


def test_a_package_that_is_installed_elsewhere_is_noticed(trial: Trial) -> None:
    (trial.source / "__init__.py").unlink()
    with pytest.raises(RuntimeError, match="and not the copy"):
        trial.check_import()


def test_names_choose_and_mistyped_ones_are_refused() -> None:
    [defect] = chosen(["wrong-checksum"])
    assert defect.name == "wrong-checksum"
    with pytest.raises(ValueError, match="no such defect: wrong-check"):
        chosen(["wrong-check"])


def test_a_result_knows_its_defect(trial: Trial) -> None:
    assert trial.judge(_GONE) == Result(
        _GONE, Verdict.NOT_APPLIED, 0.0, (), "numbers.py has the text to change 0 times, not once"
    )
