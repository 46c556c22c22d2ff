"""Passwords that clusters really ask for come out nowhere: not in output, logs, Spark's files or the process list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import sasl_plain
from heliograph.kafka.topics import NewTopic
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import admin_of, await_growth, write_settings
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

CANARIES = {"safe": "canary-51d0f7", "vault": "canary-c2b6e8"}
WRONG = "canary-90aa4d"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True)
class Guarded:
    """Two clusters that ask for a password, and a folder for files."""

    clusters: Mapping[str, EmbeddedCluster]
    folder: Path

    def settings(self, passwords: Mapping[str, str] = CANARIES) -> Path:
        """A file with these passwords, one of them through a provider."""
        (self.folder / "secrets.properties").write_text(f"password={passwords['vault']}\n")
        through_provider = f"${{file:{self.folder}/secrets.properties:password}}"
        options = {"topics": "hidden", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        for alias, password in (("safe", passwords["safe"]), ("vault", through_provider)):
            options[f"{alias}.bootstrap.servers"] = self.clusters[alias].addresses("SASL")
            options[f"{alias}.sasl.jaas.config"] = f'{PLAIN} required username="alice" password="{password}";'
        file = self.folder / "mm2.properties"
        write_settings(file, self.clusters, ["safe->vault"], options)
        return file


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, EmbeddedCluster]]:
    """Two clusters, each with its own password for alice, and a topic with records."""
    specs = [
        ClusterSpec(alias, listeners=[sasl_plain("SASL", {"alice": canary})]) for alias, canary in CANARIES.items()
    ]
    with running_clusters(*specs) as (safe, vault):
        with admin_of(safe) as admin:
            admin.create_topics([NewTopic("hidden", 1, 1)])
        yield {"safe": safe, "vault": vault}


@pytest.fixture
def guarded(clusters: Mapping[str, EmbeddedCluster], tmp_path: Path) -> Guarded:
    return Guarded(clusters, tmp_path)


def hold_a_canary(text: str) -> list[str]:
    """Which canaries a text lets out, also a part of one."""
    return [canary for canary in (*CANARIES.values(), WRONG) if canary.removeprefix("canary-") in text]


def expect_no_canary_in_files(folder: Path) -> int:
    """Look into every file; returns how many there are."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        assert not hold_a_canary(path.read_bytes().decode("latin-1")), path
    return len(files)


@pytest.mark.parametrize(
    "options", [pytest.param([], id="text"), pytest.param(["--json-log"], id="json", marks=pytest.mark.long)]
)
def test_run_lets_no_password_out(guarded: Guarded, options: list[str]) -> None:
    mirror = MirrorProcess(guarded.settings(), guarded.folder / "mirror.log", options=options)
    try:
        with Load(guarded.clusters["safe"].bootstrap_servers, "hidden", 1, per_second=100):
            await_growth(guarded.clusters["vault"], "safe.hidden", 90)
            mirror.worker()
            commands = mirror.command_lines()
            assert len(commands) >= 5, "supervisor, engine, JVM, daemon and worker at least"
            assert not hold_a_canary("\n".join(commands))
            assert expect_no_canary_in_files(mirror.folder) > 1
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    assert "safe->vault" in mirror.log_text()
    assert not hold_a_canary(mirror.log_text())


def test_run_with_a_wrong_password_says_so_without_it(guarded: Guarded) -> None:
    mirror = MirrorProcess(guarded.settings({**CANARIES, "vault": WRONG}), guarded.folder / "mirror.log")
    try:
        wait_until(lambda: "login refused" in mirror.log_text(), "the refusal", 60)
        assert not hold_a_canary("\n".join(mirror.command_lines()))
        expect_no_canary_in_files(mirror.folder)
    finally:
        mirror.kill()
    assert not hold_a_canary(mirror.log_text())


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize("command", ["plan", "check", "status", "lag", "verify"])
def test_no_command_lets_a_password_out(
    guarded: Guarded, command: str, output: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, str(guarded.settings()), "-o", output])
    shown = capfd.readouterr()
    assert not ended.value.code
    assert "hidden" in shown.out or "safe->vault" in shown.out
    assert not hold_a_canary(shown.out + shown.err)


@pytest.mark.parametrize("output", ["table", "json"])
@pytest.mark.parametrize("command", ["plan", "check", "status", "lag", "verify"])
def test_no_command_lets_a_wrong_password_out(
    guarded: Guarded, command: str, output: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, str(guarded.settings({**CANARIES, "safe": WRONG})), "-o", output])
    shown = capfd.readouterr()
    assert ended.value.code
    assert "login refused" in shown.out + shown.err
    assert not hold_a_canary(shown.out + shown.err)
