from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from heliograph.cli.main import app, main
from heliograph.embedded.cluster import EmbeddedCluster
from tests.monitor.scene import make_scene

FILE = "clusters=a,b\na.bootstrap.servers=127.0.0.1:1\nb.bootstrap.servers=127.0.0.1:1\na->b.enabled=true\n"
COMMANDS = ["switchover", "failover", "failback"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two clusters that nobody can reach."""
    path = tmp_path / "mm2.properties"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_begins_without_a_word_of_somebody(command: str, file: Path) -> None:
    result = CliRunner().invoke(app, [command, str(file)], input="y\n")
    assert result.exit_code == 2
    assert "--yes" in result.output
    assert "--dry-run" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flow_that_is_not_there_is_named_with_those_that_are(command: str, file: Path) -> None:
    result = CliRunner().invoke(app, [command, str(file), "--flow", "b->c", "--yes"])
    assert result.exit_code == 2
    assert "b->c" in result.output
    assert "a->b" in result.output


def test_a_tail_has_one_place(file: Path) -> None:
    result = CliRunner().invoke(app, ["failback", str(file), "--tail", "x", "--tail-topic", "y", "--yes"])
    assert result.exit_code == 2
    assert "--tail-topic" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_what_to_type(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert f"heliograph {command} mm2.properties --flow 'primary->backup' --dry-run" in result.output


def test_a_target_that_is_gone_is_told_in_one_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["failover", str(file), "--yes"])
    assert ending.value.code == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("error: ")
    assert "b broker 127.0.0.1:1" in complaint
    assert "Traceback" not in complaint


@pytest.mark.kafka
def test_a_dry_run_names_what_stands_in_the_way(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    scene = make_scene(tmp_path, primary, backup)
    result = CliRunner().invoke(app, ["failover", str(scene.file), "--dry-run", "-o", "json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["can_begin"] is False
    assert [step["step"] for step in found["steps"]] == ["check", "close", "survey", "groups"]
    assert "has never run" in found["steps"][0]["problems"][0]
