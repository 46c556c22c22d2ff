"""What the doctor thinks of machines, without having them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.diagnostics.machine import Folder, Machine, core_limit, folder, memory_limit
from heliograph.diagnostics.machine_checks import check_machine
from heliograph.diagnostics.observation import Verdict, is_well

GIB = 1024**3
FIT = Machine(
    python=(3, 11, 0),
    java="17.0.1",
    cores=2,
    memory_bytes=4 * GIB,
    available_bytes=2 * GIB,
    open_files=4096,
    folders=(Folder("cache", Path("/cache"), True, GIB), Folder("temporary", Path("/tmp"), True, GIB)),
)


def test_a_fit_machine_has_nothing_wrong_and_needs_no_advice() -> None:
    seen = list(check_machine(FIT))
    assert [item.subject for item in seen] == [
        "Python", "Java", "cores", "memory", "open files", "cache folder", "temporary folder",
    ]  # fmt: skip
    assert {item.verdict for item in seen} == {Verdict.OK}
    assert {item.advice for item in seen} == {""}


@pytest.mark.parametrize(
    ("machine", "subject", "verdict"),
    [
        (replace(FIT, python=(3, 10, 9)), "Python", Verdict.FAILED),
        (replace(FIT, java=""), "Java", Verdict.FAILED),
        (replace(FIT, cores=1.5), "cores", Verdict.WARNING),
        (replace(FIT, available_bytes=2 * GIB - 1), "memory", Verdict.WARNING),
        (replace(FIT, open_files=1024), "open files", Verdict.WARNING),
        (replace(FIT, folders=(Folder("cache", Path("/c"), False, GIB),)), "cache folder", Verdict.FAILED),
        (replace(FIT, folders=(Folder("temporary", Path("/t"), True, 5),)), "temporary folder", Verdict.WARNING),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_flaw_is_told_once_with_what_to_do(machine: Machine, subject: str, verdict: Verdict) -> None:
    flaws = [item for item in check_machine(machine) if item.verdict is not Verdict.OK]
    assert [(item.subject, item.verdict) for item in flaws] == [(subject, verdict)]
    assert flaws[0].advice
    assert is_well(flaws) is (verdict is Verdict.WARNING)


def test_no_limit_on_open_files_is_well() -> None:
    assert all(item.verdict is Verdict.OK for item in check_machine(replace(FIT, open_files=-1)))


def test_limits_of_a_container_count(tmp_path: Path) -> None:
    assert (memory_limit(tmp_path), core_limit(tmp_path)) == (float("inf"), float("inf"))
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert (memory_limit(tmp_path), core_limit(tmp_path)) == (float("inf"), float("inf"))
    (tmp_path / "memory.max").write_text("1048576\n")
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert (memory_limit(tmp_path), core_limit(tmp_path)) == (1048576, 1.5)


def test_a_folder_that_is_not_there_yet_is_judged_by_the_one_above(tmp_path: Path) -> None:
    found = folder("cache", tmp_path / "not" / "there")
    assert found.is_writable
    assert found.free_bytes > 0
    assert not (tmp_path / "not").exists()


def test_this_machine_can_be_read() -> None:
    machine = Machine.read()
    assert machine.cores > 0
    assert 0 < machine.available_bytes <= machine.memory_bytes
    assert [item.purpose for item in machine.folders] == ["cache", "temporary"]
