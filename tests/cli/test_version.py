"""`heliograph version`."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from heliograph import __version__
from heliograph.cli.main import main


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["version", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_all_versions_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(shown(capsys, "-o", "json"))
    assert told.keys() == {"heliograph", "python", "pyspark", "java", "kafka-python", "aiokafka", "platform"}
    assert told["heliograph"] == __version__
    assert told["pyspark"] == metadata.version("pyspark")


def test_the_table_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys).splitlines()
    assert len(lines) == 8
    assert any(line.split() == ["heliograph", __version__] for line in lines)


def test_java_that_is_missing_is_told_and_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert json.loads(shown(capsys, "-o", "json"))["java"] == "not found"
