"""`heliograph drill` on real clusters; what a drill does is tested beside it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Groups
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def names_on(cluster: EmbeddedCluster) -> set[str]:
    """All topics and groups but Kafka's own."""
    access = Access(cluster.alias, cluster.bootstrap_servers.split(","))
    with Admin(access) as admin, Groups(access) as groups:
        return {name for name in (*admin.topics(), *groups.list()) if not name.startswith("__")}


@pytest.fixture
def file(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Path:
    a, b = fresh_name("a"), fresh_name("b")
    path = tmp_path / "mm2.properties"
    path.write_text(
        f"clusters = {a}, {b}\n{a}->{b}.enabled = true\n"
        f"{a}.bootstrap.servers = {primary.bootstrap_servers}\n{b}.bootstrap.servers = {backup.bootstrap_servers}\n"
    )
    return path


def test_a_dry_run_tells_what_would_be_created_and_creates_nothing(
    file: Path, primary: EmbeddedCluster, backup: EmbeddedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    before = names_on(primary), names_on(backup)
    assert run("drill", str(file), "--groups", "3", "--dry-run", "-o", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["can_begin"] is True
    assert all("drill-" in line for line in told["creates"])
    assert (names_on(primary), names_on(backup)) == before


def test_a_dry_run_names_flows_that_would_carry_canaries_on(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{file.read_text()}topics.exclude = nothing\n")
    assert run("drill", str(file), "--dry-run") == 1
    assert "would mirror the drill's own topics: add .*\\\\.replica to its topics.exclude" in capsys.readouterr().out


def test_without_a_file_only_a_drill_for_real_is_possible(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("drill") == 2
    assert "--for-real" in capsys.readouterr().err


# However soon the mirror is at work, the drill does not get past its start.
_HELD_UP = """
hooks = hold
hooks.hold.when = after mirror
hooks.hold.operations = drill
hooks.hold.command = sleep 600
hooks.hold.timeout.seconds = 600
"""


def test_control_c_ends_with_a_report_and_nothing_left_behind(
    file: Path, primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    file.write_text(file.read_text() + _HELD_UP)
    before = names_on(primary), names_on(backup)
    log, reports = tmp_path / "log", tmp_path / "reports"
    with log.open("w") as out:
        command = [sys.executable, "-m", "heliograph", "drill", str(file), "--report", str(reports), "-o", "json"]
        drill = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
    try:
        wait_until(lambda: "mirror running" in log.read_text(), "the mirror to be started", 60)
        drill.send_signal(signal.SIGINT)
        told = json.loads(drill.communicate(timeout=60)[0])
    finally:
        drill.kill()
        drill.wait()
    assert drill.returncode == 4, log.read_text()
    assert (told["verdict"], told["reasons"]) == ("fail", ["stopped at step mirror: interrupted"])
    assert {file.suffix for file in reports.glob("drill-*")} >= {".md", ".json"}
    assert (names_on(primary), names_on(backup)) == before
