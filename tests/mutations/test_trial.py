"""The runner itself tells a defect that is caught from one that survives, and both from one that proves nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.mutations.crew import Crew
from tests.mutations.defect import Defect
from tests.mutations.known import Known
from tests.mutations.runner import chosen, judge_all, shares, summary, unsound_tests, write_report
from tests.mutations.trial import Outcome, Result, Trial, Verdict

_CODE = """def larger(one, other):
    return one if one > other else other


def twice(number):
    return number + number
"""
_TESTS = """import pathlib
import time

import pytest

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


def meet(own, other):
    (MEETING / own).touch()
    for _ in range(200):
        if (MEETING / other).exists():
            return
        time.sleep(0.1)
    assert False, f"nobody but {own} came"


def test_first_of_two():
    if twice(2) != 4:
        meet("first", "second")


def test_second_of_two():
    if twice(2) != 4:
        meet("second", "first")


def test_that_hangs():
    if larger(1, 2) != 2:
        meet("one", "nobody")
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


_FIRST = Defect(
    "first",
    "Two run at once.",
    "numbers.py",
    "number + number",
    "number * 3",
    ("tests/test_toy.py::test_first_of_two",),
)
_SECOND = Defect(
    "second",
    "Two run at once.",
    "numbers.py",
    "number + number",
    "number * 4",
    ("tests/test_toy.py::test_second_of_two",),
)
_HANGS = Defect(
    "hangs", "It ends.", "numbers.py", "one > other", "one < other", ("tests/test_toy.py::test_that_hangs",)
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src" / "toy").mkdir(parents=True)
    (project / "src" / "toy" / "__init__.py").touch()
    (project / "src" / "toy" / "numbers.py").write_text(_CODE)
    (project / "tests").mkdir()
    (tmp_path / "meeting").mkdir()
    tests = _TESTS.replace("MEETING", f"pathlib.Path({str(tmp_path / 'meeting')!r})")
    (project / "tests" / "test_toy.py").write_text(tests)
    (project / "pyproject.toml").write_text(_SETTINGS)
    return project


@pytest.fixture
def trial(tmp_path: Path, project: Path) -> Trial:
    copy = tmp_path / "copy"
    copy.mkdir()
    return Trial(copy, project, "toy")


def _crew(project: Path, folder: Path, size: int = 1) -> Crew:
    folder.mkdir()
    return Crew(folder, size, project, "toy")


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


def test_all_are_judged_and_told(project: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    crew = _crew(project, tmp_path / "crew")
    results = judge_all([_CAUGHT, _SURVIVES], crew, Known(tmp_path / "known"), lines.append)
    assert lines[:2] == ["2 tests without a defect, with 1 worker", "  2 of 2 pass"]
    assert lines[2].startswith("[1/2]")
    assert "caught: caught by test_toy::test_larger" in lines[2]
    assert "survives: SURVIVED" in lines[3]
    assert summary(results).startswith("2 defects: 1 caught, 1 SURVIVED; ")
    write_report(results, tmp_path / "report")
    told = json.loads((tmp_path / "report" / "mutations.json").read_text())
    assert [(item["name"], item["verdict"]) for item in told] == [("caught", "caught"), ("survives", "SURVIVED")]
    assert "| survives | Twice is twice. | SURVIVED |" in (tmp_path / "report" / "mutations.md").read_text()


def test_tests_that_fail_without_a_defect_prove_nothing(project: Path, tmp_path: Path) -> None:
    numbers = project / "src" / "toy" / "numbers.py"
    numbers.write_text(_CODE.replace("one > other", "one < other"))
    defect = Defect("other", "", "numbers.py", "one < other", "one == other", ("tests/test_toy.py::test_larger",))
    [result] = judge_all([defect], _crew(project, tmp_path / "crew"), Known(tmp_path / "known"), print)
    assert result.verdict is Verdict.NOT_JUDGED
    assert result.reason.startswith("without a defect, tests/test_toy.py::test_larger does not pass:")
    assert "test_larger" in result.reason


def test_as_many_run_at_once_as_there_are_copies_and_results_keep_their_order(project: Path, tmp_path: Path) -> None:
    crew = _crew(project, tmp_path / "crew", 2)
    results = judge_all([_CAUGHT, _FIRST, _SECOND], crew, Known(tmp_path / "known"), print)
    # Each of the two passes only if the other one runs at the same time, in another copy, with its own defect.
    assert [(result.defect, result.verdict) for result in results] == [
        (_CAUGHT, Verdict.CAUGHT), (_FIRST, Verdict.SURVIVED), (_SECOND, Verdict.SURVIVED)
    ]  # fmt: skip


def test_an_interrupted_run_ends_at_once_and_is_continued_where_it_was(project: Path, tmp_path: Path) -> None:
    known = tmp_path / "known"

    def stop(line: str) -> None:
        if line.startswith("[1/"):
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        judge_all([_HANGS, _CAUGHT], _crew(project, tmp_path / "crew", 2), Known(known), stop)
    assert time.monotonic() - began < 15  # the test that hangs takes 20 s until it gives up
    lines: list[str] = []
    results = judge_all([_SURVIVES, _CAUGHT], _crew(project, tmp_path / "next"), Known(known), lines.append)
    assert [result.verdict for result in results] == [Verdict.SURVIVED, Verdict.CAUGHT]
    assert results[1].by == ("test_toy::test_larger",)
    assert lines[0] == "1 defect caught with this code before"
    assert lines[1] == "1 test without a defect, with 1 worker"
    assert [line[:5] for line in lines if line.startswith("[")] == ["[1/1]"]


def test_only_what_was_caught_is_not_judged_again(project: Path, tmp_path: Path) -> None:
    known = Known(tmp_path / "known")
    judge_all([_CAUGHT, _SURVIVES], _crew(project, tmp_path / "crew"), known, print)
    with known.file.open("a") as lines:
        lines.write('{"caught": "surv')  # the run was killed while it wrote
    again = Known(known.file)
    assert again.result(_CAUGHT)
    assert not again.result(_SURVIVES)
    changed = Defect(_CAUGHT.name, _CAUGHT.guarantee, _CAUGHT.file, "one > other", "one >= other", _CAUGHT.tests)
    assert not again.result(changed)
    again.judge_again([_CAUGHT])
    assert not again.result(_CAUGHT)
    again.forget()
    assert not Known(known.file).is_sound("tests/test_toy.py")


def test_verdicts_on_other_code_are_others(project: Path, tmp_path: Path) -> None:
    first = _crew(project, tmp_path / "first").code
    defects = project / "tests" / "mutations" / "defects.py"
    defects.parent.mkdir()
    defects.write_text("more of them")
    assert _crew(project, tmp_path / "second").code == first
    with (project / "tests" / "test_toy.py").open("a") as tests:
        tests.write("\n")
    assert _crew(project, tmp_path / "third").code != first


def test_a_run_that_is_ended_from_outside_proves_nothing(trial: Trial) -> None:
    trial.end()
    assert trial.judge(_CAUGHT).verdict is Verdict.NOT_JUDGED


_TWO = ["tests/a/test_x.py::test_one", "tests/a/test_x.py::test_two", "tests/test_y.py"]


@pytest.mark.parametrize(
    ("outcome", "unsound"),
    [
        (Outcome(0, passed=3), set()),
        (Outcome(1, failed=("a.test_x::test_one",), passed=2), set(_TWO[:2])),
        (Outcome(1, broken=("test_y::test_three",), passed=2), {_TWO[2]}),
        (Outcome(0, passed=0), set(_TWO)),  # all of them were skipped
        (Outcome(2, failed=("test_y::test_three",), passed=2), set(_TWO)),  # it did not end by itself
        (Outcome(1, failed=("elsewhere::test",), passed=2), set(_TWO)),
        (Outcome(4), set(_TWO)),
    ],
)
def test_a_test_is_sound_only_if_nothing_in_its_module_failed(outcome: Outcome, unsound: set[str]) -> None:
    assert unsound_tests(_TWO, outcome) == unsound


def test_tests_without_brokers_share_no_run_with_those_that_need_them() -> None:
    light = [
        "tests/kafka/test_records.py::test_a",
        "tests/policy/test_filters.py",
        "tests/kafka/test_records.py::test_b",
    ]
    heavy = ["tests/engine/test_loss.py::test_a", "tests/sync/test_topics.py"]
    dealt = shares([light[0], heavy[0], light[1], heavy[1], light[2]])
    assert sorted(map(sorted, dealt)) == [sorted(heavy), sorted(light)]
    many = [f"tests/none/test_{number}.py" for number in range(30)]
    assert max(map(len, shares(many))) <= 8
    assert sorted(test for share in shares(many) for test in share) == sorted(many)


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
