"""`heliograph token`: what it prints is what the server takes."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import typer

from heliograph.cli.token import token
from heliograph.config.credential_hash import TokenHash
from heliograph.config.mirror_config import load
from heliograph.config.rest_check import rest_access

BASE = "clusters = a, b\na.bootstrap.servers = a:1\nb.bootstrap.servers = b:1\na->b.enabled = true\n"


def run(*arguments: str) -> int:
    """Run the command; returns its exit code."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(token)
    with pytest.raises(SystemExit) as ended:
        app(args=list(arguments), prog_name="token")
    return int(ended.value.code or 0)


def test_a_token_is_shown_once_and_the_file_gets_its_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ci", "--role", "operator", "-o", "json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["token"] not in made["line"]
    file = tmp_path / "mm2.properties"
    file.write_text(BASE + made["line"])
    (holder,) = rest_access(load(file)).tokens
    assert (holder.name, holder.role) == ("ci", "operator")
    assert holder.token.equals(TokenHash.of(made["token"]))


def test_people_get_lines_that_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("ci", "--role", "viewer") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("hlg_")]
    assert [line for line in lines if line.startswith("rest.token.ci = viewer:sha256:") and len(line) == 94]


def test_a_password_comes_from_a_pipe_and_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("canary-hunter2\n"))
    assert run("alice", "--role", "admin", "--password") == 0
    shown = capsys.readouterr()
    assert "canary" not in shown.out + shown.err
    file = tmp_path / "mm2.properties"
    file.write_text(BASE + next(line for line in shown.out.splitlines() if line.startswith("rest.user.")))
    (user,) = rest_access(load(file)).users
    assert (user.name, user.role, user.password.matches("canary-hunter2")) == ("alice", "admin", True)


def test_a_password_at_a_terminal_is_asked_for_twice_and_not_echoed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []

    def prompt(_: str, **how: object) -> str:
        asked.append(how)
        return "long enough"

    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr(typer, "prompt", prompt)
    assert run("alice", "--role", "admin", "--password") == 0
    assert [(how["hide_input"], how["confirmation_prompt"]) for how in asked] == [(True, True)]


@pytest.mark.parametrize(
    "arguments", [["a b", "--role", "viewer"], ["anonymous", "--role", "viewer"], ["a"], ["a", "--role", "root"]]
)
def test_what_cannot_be_a_caller_is_refused(arguments: list[str]) -> None:
    assert run(*arguments) == 2


def test_a_short_password_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    assert run("alice", "--role", "admin", "--password") == 2
