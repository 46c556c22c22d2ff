"""`heliograph doctor`: verdicts, exit codes, and the archive."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heliograph.cli.main import main

if TYPE_CHECKING:
    from heliograph.embedded.cluster import EmbeddedCluster

AWAY = "clusters = a, b\na.bootstrap.servers = 127.0.0.1:1\nb.bootstrap.servers = 127.0.0.1:1\na->b.enabled = true\n"


def run(*arguments: str | Path) -> object:
    """The exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *map(str, arguments)])
    return ended.value.code


def observations(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """What was printed as JSON, by subject."""
    told = json.loads(capsys.readouterr().out)
    return {item["subject"]: item for item in told["observations"]}


def test_without_a_file_only_the_machine_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-o", "json") == 0
    seen = observations(capsys)
    assert {"Python", "Java", "cores", "memory", "open files", "cache folder", "temporary folder"} <= seen.keys()
    assert not any(subject.startswith("cluster") for subject in seen)


def test_the_table_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("clusters = a, b\ntasks.max = none\n")
    assert run(file) == 1
    shown = capsys.readouterr().out
    assert "failed" in shown
    assert "a.bootstrap.servers is missing" in shown
    assert "file: write a.bootstrap.servers = host:port" in shown


def test_clusters_that_are_away_are_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(AWAY)
    assert run(file, "-o", "json") == 1
    seen = observations(capsys)
    assert {seen["cluster a"]["verdict"], seen["cluster b"]["verdict"]} == {"failed"}
    assert seen["file"]["verdict"] != "failed"


def test_missing_java_is_a_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run("-o", "json") == 1
    assert observations(capsys)["Java"]["verdict"] == "failed"


def test_the_bundle_is_written_also_when_something_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, bundle = tmp_path / "mm2.properties", tmp_path / "help.tar.gz"
    file.write_text(AWAY)
    assert run(file, "--bundle", bundle, "--rest", "http://127.0.0.1:1", "-o", "json") == 1
    assert str(bundle) in capsys.readouterr().err
    with tarfile.open(bundle) as archive:
        names = {name.removeprefix("heliograph-doctor/") for name in archive.getnames()}
    assert {"manifest.json", "version.json", "doctor.json", "environment.json", "config.json"} <= names


def test_a_bundle_without_a_place_could_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--bundle", tmp_path / "no" / "help.tar.gz") == 3
    assert "give --bundle another place" in capsys.readouterr().err


def test_a_token_that_cannot_be_read_could_not_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--token-file", tmp_path / "none") == 3
    assert "cannot read the token" in capsys.readouterr().err


@pytest.mark.kafka
def test_clusters_that_are_there_are_well(
    tmp_path: Path, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mm2.properties"
    first, second = (cluster.bootstrap_servers for cluster in cluster_pair)
    file.write_text(AWAY.replace("127.0.0.1:1", first, 1).replace("127.0.0.1:1\na->b", f"{second}\na->b"))
    assert run(file, "-o", "json") == 0
    seen = observations(capsys)
    assert {seen[subject]["verdict"] for subject in ("cluster a", "cluster b", "clock of a", "clock of b")} == {"ok"}
