"""The alert rules are sound, fire when they should, and speak of metrics that exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.expressions import TOLD_BY_OTHERS, declared, names_in, rules
from tests.deploy.prometheus import FOLDER, RULES
from tests.programs import program

_TESTS = sorted((FOLDER / "tests").glob("*.yml"))
_ALERTS = {(rule["alert"], rule["labels"]["severity"]): rule for rule in rules()}
_PROCESS = {"process_start_time_seconds"}


def _promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [program("promtool", "prometheus"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_prometheus_takes_configuration_and_rules() -> None:
    done = _promtool("check", "config", FOLDER / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(_ALERTS)} rules found" in done.stdout


@pytest.mark.parametrize("file", _TESTS, ids=lambda file: file.stem)
def test_alerts_fire_when_they_should_and_only_then(file: Path) -> None:
    done = _promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", sorted(_ALERTS), ids=lambda alert: "-".join(alert))
def test_each_alert_has_a_test_that_fails_without_it(alert: tuple[str, str], tmp_path: Path) -> None:
    """In a copy where its expression is never true, one of the tests must complain."""
    name, severity = alert
    text = RULES.read_text(encoding="utf-8")
    pattern = rf"(- alert: {name}\n +expr: )(.+)(\n(?: +for: .+\n)? +labels:\n +severity: {severity}\n)"
    spoilt, count = re.subn(pattern, r"\1vector(0) > 1\3", text)
    assert count == 1
    (tmp_path / RULES.name).write_text(spoilt, encoding="utf-8")
    done = _promtool("test", "rules", *_tests_about(name, tmp_path / "tests"))
    assert done.returncode != 0
    assert name in done.stdout + done.stderr


def _tests_about(alert: str, folder: Path) -> Iterator[Path]:
    """Copies of the tests that name an alert, and of no others: each takes promtool a while."""
    folder.mkdir()
    for file in _TESTS:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        content["tests"] = [test for test in content["tests"] if f'"{alert}"' in str(test)]
        if content["tests"]:
            copy = folder / file.name
            copy.write_text(yaml.safe_dump(content), encoding="utf-8")
            yield copy


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_each_alert_says_how_bad_it_is_and_what_to_do_with_labels_that_exist(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    names = names_in(rule["expr"])
    known = declared()
    assert names - known.keys() - TOLD_BY_OTHERS - _PROCESS == set()
    own = {label for name in names & known.keys() for label in known[name]}
    used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    if names & known.keys():
        assert used <= own
    else:
        assert used <= {"source", "target", "instance"}
