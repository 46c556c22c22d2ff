"""`heliograph config import`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from heliograph.cli.main import main

SAMPLES = Path(__file__).parents[1] / "migration" / "samples"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["config", *arguments])
    return int(ended.value.code or 0)


def test_the_file_is_shown_and_the_notes_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAST_PASSWORD", "plain-secret")
    assert run("import", str(SAMPLES / "connectors.json")) == 0
    shown = capsys.readouterr()
    assert "note: east.sasl.jaas.config: the secret is not copied" in shown.err
    file = tmp_path / "mm2.properties"
    file.write_text(shown.out)
    assert run("check", str(file)) == 0
    assert "  flow east->west\n" in capsys.readouterr().out


def test_it_can_be_written_but_not_over_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    assert run("import", str(SAMPLES / "connectors.json"), "--write", str(file)) == 0
    assert capsys.readouterr().out == ""
    written = file.read_text()
    assert "clusters = east, west" in written
    assert run("import", str(SAMPLES / "connectors.json"), "--write", str(file)) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text() == written


def test_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", str(SAMPLES / "strimzi.yaml"), "--secrets", "/run/secrets", "-o", "json") == 0
    shown = capsys.readouterr()
    data = json.loads(shown.out)
    assert data["properties"]["east.ssl.truststore.certificates"] == "${directory:/run/secrets/east-ca:ca.crt}"
    assert data["notes"]
    assert shown.err == ""


def test_standard_input_is_a_file_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO((SAMPLES / "strimzi.yaml").read_bytes())

    monkeypatch.setattr("sys.stdin", Input)
    assert run("import", "-") == 0
    assert "# Made by heliograph config import from -" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_what_cannot_be_opened_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import", str(tmp_path / name)) == 2
    error = capsys.readouterr().err
    assert "cannot be read" in error
    assert error.count("\n") == 1
