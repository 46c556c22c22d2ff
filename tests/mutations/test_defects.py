"""Every deliberate defect can still be made, and the tests that must catch it are there."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest

from tests.mutations.defect import Defect
from tests.mutations.defects import DEFECTS
from tests.mutations.runner import main
from tests.mutations.trial import ROOT

_SOURCE = ROOT / "src" / "heliograph"
_FEWEST = 100


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len(DEFECTS) >= _FEWEST
    assert max(Counter(defect.name for defect in DEFECTS).values()) == 1
    assert max(Counter((defect.file, defect.before, defect.after) for defect in DEFECTS).values()) == 1


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_it_can_be_made_and_its_tests_exist(defect: Defect) -> None:
    assert defect.applied_to(defect.path(_SOURCE).read_text())
    assert defect.guarantee.endswith(".")
    assert defect.tests
    for test in defect.tests:
        file, _, name = test.partition("::")
        assert not name or name.partition("[")[0] in _test_names(file), f"{test} is not there any more"


@cache
def _test_names(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(item.name for item in tree.body if isinstance(item, ast.FunctionDef))


@pytest.mark.long
@pytest.mark.kafka
@pytest.mark.timeout(7200)
def test_every_defect_is_caught(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        assert main([]) == 0
