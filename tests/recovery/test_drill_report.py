"""The report of a drill: the same facts as a page and as JSON, and no secrets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from heliograph.recovery.drill.account import Account, GroupAccount, Reading
from heliograph.recovery.drill.report import DrillReport, digest
from heliograph.recovery.operation import OperationReport, StepReport, StepState


@pytest.fixture
def report() -> DrillReport:
    group = GroupAccount("g-01", 7, Reading(0, 3, 4, 0), Reading(0, 0, 0, 0))
    return DrillReport(
        "0a1b2c3d", "rehearsal", "primary->backup", "ada@desk", "mm2.properties", "f00d",
        [StepReport("failover", "Fail over", StepState.DONE, "a | b", 1.25)],
        began_at_ms=1_700_000_000_000,
        versions={"heliograph": "1", "kafka of primary": "4.0"},
        rto_seconds=1.234,
        account=Account(10, 8, 2, 0.2, 2, 3, [group], []),
        failover=OperationReport("failover", "x->y", [StepReport("close", "Stop", StepState.DONE, "shut", 0.1)]),
    )  # fmt: skip


def test_the_page_has_all_that_an_auditor_asks_for(report: DrillReport, tmp_path: Path) -> None:
    page, data = report.write(tmp_path / "audits")
    assert (page.name, data.name) == ("drill-20231114T221320Z-0a1b2c3d.md", "drill-20231114T221320Z-0a1b2c3d.json")
    text = page.read_text()
    for expected in (
        "# Disaster recovery drill 0a1b2c3d: PASS", "2023-11-14T22:13:20Z", "ada@desk", "f00d",
        "| kafka of primary | 4.0 |",
        "| rto seconds | 1.23 |", "| rpo records | 2 |", "| Fail over | done | 1.25 | a \\| b |", "| Stop | done |",
        "| g-01 | 7 | 0 | 3 | 4 | 0 | 0 | 0 |",
    ):  # fmt: skip
        assert expected in text
    assert json.loads(data.read_text()) == report.data()


def test_any_fault_or_undone_step_fails(report: DrillReport) -> None:
    assert report.passed
    report.steps[0].state = StepState.FAILED
    assert not report.passed
    report.steps[0].state = StepState.DONE
    report.faults.append("a topic was left behind")
    assert not report.passed
    assert report.data()["verdict"] == "fail"
    assert report.data()["reasons"] == ["a topic was left behind"]


def test_what_was_not_measured_is_said_to_be_so(report: DrillReport, tmp_path: Path) -> None:
    report.account = report.rto_seconds = None
    page, _ = report.write(tmp_path)
    assert "| rto seconds | not measured |" in page.read_text()


def test_the_digest_is_that_of_the_file_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_bytes(b"clusters = a\r\n\xe9")
    assert digest(file) == hashlib.sha256(b"clusters = a\r\n\xe9").hexdigest()
