"""Commands with variables in the place of a file, or beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heliograph.cli.main import main

WHOLE = {
    "HELIOGRAPH_CLUSTERS": "a, b",
    "HELIOGRAPH_A_BOOTSTRAP_SERVERS": "a:1",
    "HELIOGRAPH_B_BOOTSTRAP_SERVERS": "b:1",
    "HELIOGRAPH_A__B_ENABLED": "true",
    "HELIOGRAPH_A_SSL_KEY_PASSWORD": "hush-hush",
}


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WHOLE.items():
        monkeypatch.setenv(name, value)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("file", [(), ("-",)], ids=["no file", "-"])
def test_no_file_is_needed(file: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", *file) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["-: ok, 0 warnings, 0 notes", "  flow a->b"]


@pytest.mark.usefixtures("variables")
def test_clusters_can_be_chosen_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", "-", "--clusters", "b", "-o", "json") == 0
    assert [flow["name"] for flow in json.loads(capsys.readouterr().out)["flows"]] == ["a->b"]


@pytest.mark.usefixtures("variables")
def test_explain_names_the_variable_and_hides_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "explain") == 0
    out = capsys.readouterr().out
    assert "HELIOGRAPH_A__B_ENABLED: a->b.enabled" in out
    assert "HELIOGRAPH_A_SSL_KEY_PASSWORD: a.ssl.key.password" in out
    assert "hush" not in out
    assert run("config", "explain", "--flow", "a->b", "-o", "json") == 0
    settings = json.loads(capsys.readouterr().out)["groups"][0]["settings"]
    assert next(item for item in settings if item["name"] == "enabled")["origin"] == {
        "kind": "variable",
        "line": 0,
        "key": "a->b.enabled",
        "variable": "HELIOGRAPH_A__B_ENABLED",
    }


def test_without_both_the_answer_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check") == 2
    assert capsys.readouterr().err.startswith("error: no file was given, and no HELIOGRAPH_ variable takes its place")


@pytest.mark.usefixtures("variables")
def test_a_file_that_is_named_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("config", "check", str(tmp_path / "none")) == 2
    assert "no such file" in capsys.readouterr().err
