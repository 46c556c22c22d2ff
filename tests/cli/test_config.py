from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from heliograph.cli.main import main

GOOD = "clusters=a,b\na.bootstrap.servers=a:1\nb.bootstrap.servers=b:1\na->b.enabled=true\njmx.port=1\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "mm2.properties"
    path.write_text(GOOD)
    return path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_check_names_flows_and_problems(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", str(good)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{good}: ok, 0 warnings, 1 notes"
    assert lines[1:3] == ["  flow a->b", "  flow b->a (heartbeats only)"]
    assert lines[3].startswith(f"{good}:5: note: jmx.port: accepted, no effect")


def test_check_for_machines(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", str(good), "--clusters", "b", "-o", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] is True
    assert data["flows"] == [{"name": "a->b", "heartbeats_only": False}]
    assert data["problems"][0]["severity"] == "note"


def test_clusters_are_listed_as_mirror_maker_2_takes_them(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", str(good), "--clusters", "a", "b", "-o", "yaml") == 0
    assert [flow["name"] for flow in yaml.safe_load(capsys.readouterr().out)["flows"]] == ["a->b", "b->a"]


def test_a_second_file_is_refused(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", str(good), "other.properties") == 2
    assert "only one file" in capsys.readouterr().err


def test_errors_for_machines_go_to_the_output_with_code_2(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good.write_text(GOOD + "tasks.max=x\n")
    assert run("config", "check", str(good), "-o", "json") == 2
    data = json.loads(capsys.readouterr().out)
    assert data["ok"] is False
    assert [(p["line"], p["key"], p["severity"]) for p in data["problems"]] == [(6, "tasks.max", "error")]


def test_a_missing_file_is_one_line_and_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "explain"):
        assert run("config", command, str(tmp_path / "none")) == 2
        assert capsys.readouterr().err == (
            f"{tmp_path / 'none'}: error: no such file (give the path of an mm2.properties file)\n"
        )


def test_explain_shows_lines(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "explain", str(good)) == 0
    out = capsys.readouterr().out
    assert "line 2: a.bootstrap.servers" in out
    assert "flow b->a (heartbeats only)" in out


def test_explain_of_one_flow(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "explain", str(good), "--flow", "a->b", "-o", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["groups"][0]["title"] == "flow a->b"
    enabled = next(item for item in data["groups"][0]["settings"] if item["name"] == "enabled")
    assert enabled == {
        "name": "enabled",
        "value": "true",
        "origin": {"kind": "file", "line": 4, "key": "a->b.enabled"},
    }
    assert run("config", "explain", str(good), "--flow", "a->x") == 2


def test_reference_by_scope(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "reference", "--scope", "own", "--scope", "heartbeat", "-o", "yaml") == 0
    data = yaml.safe_load(capsys.readouterr().out)
    assert {item["scope"] for item in data} == {"own", "heartbeat"}
    loss = next(item for item in data if item["name"] == "on.data.loss")
    assert (loss["default"], loss["choices"]) == ("stop", ["stop", "continue"])
    assert run("config", "reference", "--scope", "nothing") == 2


def test_reference_lists_all_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "reference") == 0
    out = capsys.readouterr().out
    assert "offset-syncs.topic.location" in out
    assert "(MM2: source)" in out


def test_help_has_examples_and_starts_quickly() -> None:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "heliograph", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert time.perf_counter() - began < 5
    heavy = ("pyspark", "kafka", "cryptography", "regex", "javaproperties", "heliograph.config")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert [name for name in imported if name.startswith(heavy)] == []


def test_help_of_commands_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("check", "explain", "reference"):
        assert run("config", command, "--help") == 0
        assert f"heliograph config {command}" in capsys.readouterr().out
