"""The unit for systemd: restarts that fit our exit codes, and nothing that Java cannot live with."""

from __future__ import annotations

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from heliograph.errors import ConfigError, HeliographError, StartError, TakenOver

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "heliograph.service"


@pytest.fixture(scope="module")
def service() -> dict[str, str]:
    """The section of the service."""
    parser = RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNIT)
    return dict(parser["Service"])


def test_it_is_started_again_after_what_may_pass_and_never_after_what_will_not(service: dict[str, str]) -> None:
    final = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert service["Restart"] == "on-failure"
    assert final == {ConfigError.exit_code, TakenOver.exit_code}
    assert {HeliographError.exit_code, StartError.exit_code}.isdisjoint(final)


def test_only_the_first_process_is_told_to_stop(service: dict[str, str]) -> None:
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) >= 60


def test_it_is_not_root_and_cannot_become_it(service: dict[str, str]) -> None:
    assert service["User"] == "heliograph"
    assert service["NoNewPrivileges"] == "yes"
    assert service["CapabilityBoundingSet"] == ""
    assert "MemoryDenyWriteExecute" not in service


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs the program systemd-analyze")
def test_systemd_takes_it(tmp_path: Path) -> None:
    """A copy that starts a program which is there: otherwise systemd complains of that alone."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/heliograph/bin/heliograph", "/bin/true"))
    command = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
