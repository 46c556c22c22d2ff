"""A mirror that runs is asked for everything, by a caller who may."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.secret import Secret
from heliograph.diagnostics.live_mirror import LiveMirror, address_of
from tests.control.rest.serving import TOKENS, serving, token_of


def test_every_question_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path, TOKENS) as served:
        answers = {
            item.name: item for item in LiveMirror(served.address, Secret(token_of("operator"))).answers(["a->b"])
        }
    assert {"mirror.json", "threads.json", "metrics.txt", "a-to-b/flow.json"} <= answers.keys()
    assert [name for name, answer in answers.items() if answer.problem] == []
    assert '"MainThread"' in answers["threads.json"].text
    assert "heliograph_" in answers["metrics.txt"].text


def test_who_may_not_ask_is_told_what_is_missing(tmp_path: Path) -> None:
    with serving(tmp_path, TOKENS) as served:
        answers = {item.name: item for item in LiveMirror(served.address).answers([])}
    assert "--token-file" in answers["mirror.json"].problem
    assert not answers["ready.json"].problem


def test_no_proxy_gets_to_see_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(tmp_path) as served:
        assert not next(LiveMirror(served.address).answers([])).problem


def test_nobody_there_is_asked_only_once() -> None:
    [answer] = LiveMirror("http://127.0.0.1:1").answers(["a->b"])
    assert "nobody answers at http://127.0.0.1:1" in answer.problem


@pytest.mark.parametrize(
    ("listeners", "address"),
    [
        ((), ""),
        (("https://0.0.0.0:8443", "http://127.0.0.1:8083"), "http://127.0.0.1:8083"),
        (("https://:8443",), "https://localhost:8443"),
        (("https://mirror.example:8443",), "https://mirror.example:8443"),
        (("http://[::1]:8083",), "http://[::1]:8083"),
    ],
)
def test_the_nearest_listener_is_asked(listeners: tuple[str, ...], address: str) -> None:
    assert address_of(listeners) == address
