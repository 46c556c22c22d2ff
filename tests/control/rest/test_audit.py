"""The book of changes."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path

import pytest

from heliograph.config.secret import HIDDEN, Secret
from heliograph.control.rest.audit import AuditedRequest, AuditLog, current_request, shown
from heliograph.control.rest.roles import Caller, Role
from heliograph.control.rest.server import RestServer
from heliograph.errors import StartError
from tests.control.rest.serving import LOOPBACK, TOKENS, Lines, serving

ALICE = Caller("alice", Role.ADMIN)


def test_a_change_is_written_with_who_from_where_and_what(tmp_path: Path, audited: Lines) -> None:
    with serving(tmp_path, TOKENS) as served:
        body = {"level": "DEBUG"}
        before = logging.getLogger("heliograph.somewhere").getEffectiveLevel()
        try:
            answer = served.request("PUT", "/admin/loggers/heliograph.somewhere", "admin", json=body)
        finally:
            logging.getLogger("heliograph.somewhere").setLevel(before)
        assert answer.status_code == 200
    (line,) = audited.parsed()
    assert line["at"].startswith("20")
    assert line["remote"].startswith("127.0.0.1:")
    assert (line["who"], line["role"], line["outcome"]) == ("admins", "admin", "done")
    assert "heliograph.somewhere" in line["what"]
    assert line["after"] == {"level": "DEBUG"}


def test_refusals_and_failures_are_written_and_looking_is_not(tmp_path: Path, audited: Lines) -> None:
    with serving(tmp_path, TOKENS) as served:
        served.request("GET", "/connectors", "viewer")
        served.request("GET", "/connectors")
        served.request("PUT", "/connectors/MirrorSourceConnector/pause", "viewer")
        served.request("PUT", "/connectors/nobody/pause", "operator")
        served.request("PUT", "/none", "admin")
    lines = [(line["who"], line["what"], line["outcome"], line["code"]) for line in audited.parsed()]
    assert lines == [
        ("anonymous", "GET /connectors", "refused", 401),
        ("viewers", "PUT /connectors/MirrorSourceConnector/pause", "refused", 403),
        ("operators", "PUT /connectors/nobody/pause", "failed", 404),
    ]


def test_a_change_that_forgets_to_write_is_written_all_the_same(
    tmp_path: Path, audited: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastapi import APIRouter

    from heliograph.control.rest import app
    from heliograph.control.rest.roles import needs

    silent = APIRouter()
    for path, role in (("/change", Role.OPERATOR), ("/ask", Role.VIEWER)):
        silent.add_api_route(path, lambda: "done", methods=["POST"], dependencies=[needs(role)])
    monkeypatch.setattr(app, "_ROUTERS", (silent,))
    with serving(tmp_path) as served:
        assert served.request("POST", "/change").json() == "done"
        assert served.request("POST", "/ask").json() == "done"
    assert [(line["what"], line["outcome"]) for line in audited.parsed()] == [("POST /change", "done")]


def test_the_book_goes_on_whatever_level_is_set(tmp_path: Path, audited: Lines) -> None:
    logger = logging.getLogger("heliograph.audit")
    logger.setLevel(logging.CRITICAL + 1)
    try:
        AuditLog().write(ALICE, "pause", {}, {})
    finally:
        logger.setLevel(logging.NOTSET)
    assert [line["what"] for line in audited.parsed()] == ["pause"]


def test_a_file_gets_the_same_lines_and_only_its_owner_can_read_it(tmp_path: Path, audited: Lines) -> None:
    file = tmp_path / "audit.jsonl"
    for _ in range(2):  # a second server adds to it
        with serving(tmp_path, f"{TOKENS}rest.audit.file = {file}\n") as served:
            served.request("PUT", "/connectors/nobody/pause", "operator")
    assert [json.loads(line) for line in file.read_text().splitlines()] == audited.parsed()
    assert len(audited.texts) == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_is_moved_away_is_begun_again(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    book = AuditLog(str(file))
    book.write(ALICE, "first", {}, {})
    file.rename(tmp_path / "old.jsonl")
    book.write(ALICE, "second", {}, {})
    assert json.loads(file.read_text())["what"] == "second"


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "audit.jsonl"
    with serving(tmp_path) as served:
        server = RestServer(served.mirror, [LOOPBACK])
        server._audit = AuditLog(str(file))
        with pytest.raises(StartError, match=r"rest\.audit\.file: .*audit\.jsonl cannot be written: No such file"):
            server.start()


def test_a_file_that_cannot_be_written_later_hinders_no_change(
    tmp_path: Path, audited: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    AuditLog(str(tmp_path / "missing" / "audit.jsonl")).write(ALICE, "pause", {}, {})
    assert json.loads(audited.texts[0])["what"] == "pause"
    assert "cannot be written" in caplog.text


def test_secrets_are_hidden_however_deep() -> None:
    values = {
        "topics": "orders",
        "sasl.jaas.config": "canary",
        "source.consumer.sasl.jaas.config": "canary",
        "nested": {"ssl.key.password": "canary", "list": [{"api.key": "canary"}, Secret("canary")]},
        "ssl.keystore.password": None,
    }
    assert shown(values) == {
        "topics": "orders",
        "sasl.jaas.config": HIDDEN,
        "source.consumer.sasl.jaas.config": HIDDEN,
        "nested": {"ssl.key.password": HIDDEN, "list": [{"api.key": HIDDEN}, HIDDEN]},
        "ssl.keystore.password": None,
    }


def test_very_many_refusals_are_counted_instead(audited: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    book = AuditLog()
    token = current_request.set(AuditedRequest("192.0.2.1", 1, "GET /"))
    try:
        for _ in range(100):
            book.refused(ALICE, "GET /", 401, "")
        current_request.set(AuditedRequest("192.0.2.2", 1, "GET /"))
        book.refused(ALICE, "GET /", 401, "")
    finally:
        current_request.reset(token)
    lines = audited.parsed()
    assert len(lines) == 31
    assert lines[-1]["refusals_left_out"] == 70


def test_addresses_of_both_families_can_be_told_apart_from_ports() -> None:
    assert AuditedRequest("127.0.0.1", 1, "").client == "127.0.0.1:1"
    assert AuditedRequest("::1", 1, "").client == "[::1]:1"
