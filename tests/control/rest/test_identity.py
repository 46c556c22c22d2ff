"""Who a request is from."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from heliograph.config.credential_hash import PasswordHash
from heliograph.control.rest import identity
from tests.control.rest.serving import TOKENS, Lines, Served, serving, token_of

PASSWORD = "correct: hörse"
WRONG = "canary-wrong-41c9"


@pytest.fixture(scope="module")
def text() -> str:
    """Tokens for all roles, and a user."""
    return TOKENS + f"rest.user.alice = operator:{PasswordHash.of(PASSWORD)}\n"


@pytest.fixture
def served(tmp_path: Path, text: str) -> Iterator[Served]:
    """A server that knows them."""
    with serving(tmp_path, text) as running:
        yield running


def who(answer: httpx.Response) -> tuple[str, str]:
    """Name and role as the server sees them."""
    assert answer.status_code == 200, answer.text
    caller = answer.json()["caller"]
    return caller["name"], caller["role"]


def basic(name: str, password: str) -> dict[str, str]:
    """The header for a name and a password."""
    return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}


def test_without_any_caller_in_the_file_everyone_on_this_machine_is_admin(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert who(served.request("GET", "/api/v1/mirror")) == ("anonymous", "admin")


def test_with_a_caller_in_the_file_nobody_else_gets_in(served: Served) -> None:
    assert served.request("GET", "/api/v1/mirror").status_code == 401


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_a_token_tells_who_it_is(served: Served, role: str) -> None:
    assert who(served.request("GET", "/api/v1/mirror", role)) == (f"{role}s", role)


def test_the_scheme_may_be_written_in_any_case(served: Served) -> None:
    headers = {"Authorization": f"bearer {token_of('viewer')}"}
    assert served.request("GET", "/api/v1/mirror", headers=headers).status_code == 200


def test_a_name_and_a_password_tell_who_it_is(served: Served) -> None:
    assert who(served.request("GET", "/api/v1/mirror", headers=basic("alice", PASSWORD))) == ("alice", "operator")


@pytest.mark.parametrize(
    "authorization",
    [
        f"Bearer {WRONG}",
        "Bearer",
        f"Bearer {token_of('viewer')}x",
        "Bearer " + "é" * 40,
        basic("alice", WRONG)["Authorization"],
        basic("alice", "")["Authorization"],
        basic("nobody", PASSWORD)["Authorization"],
        "Basic !!!",
        "Basic " + base64.b64encode(b"alice").decode(),
        f"Digest {WRONG}",
    ],
)
def test_a_wrong_credential_is_refused_and_repeated_nowhere(
    served: Served, audited: Lines, authorization: str, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"Authorization": authorization.encode("latin-1")}
    for path in ("/api/v1/mirror", "/healthz"):  # also where nobody is asked: a wrong token is not no token
        refused = served.request("GET", path, headers=headers)  # type: ignore[arg-type]
        assert refused.status_code == 401
        assert set(refused.json()) == {"error_code", "message"}
        assert WRONG not in refused.text
    assert WRONG not in "".join(audited.texts) + caplog.text
    line = audited.parsed()[0]
    assert (line["who"], line["outcome"], line["code"]) == ("anonymous", "refused", 401)


def test_nothing_tells_whether_a_name_exists(served: Served) -> None:
    unknown, known = (
        served.request("GET", "/api/v1/mirror", headers=basic(name, WRONG)) for name in ("nobody", "alice")
    )
    assert unknown.text == known.text


def test_guessing_comes_to_an_end_but_not_for_those_who_know(served: Served) -> None:
    path = "/api/v1/mirror"
    assert who(served.request("GET", path, headers=basic("alice", PASSWORD)))[0] == "alice"
    codes = [served.request("GET", path, headers={"Authorization": f"Bearer {WRONG}"}).status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    refused = served.request("GET", path, headers=basic("nobody", WRONG))
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 61
    assert served.request("GET", path, "viewer").status_code == 200
    assert served.request("GET", path, headers=basic("alice", PASSWORD)).status_code == 200


def test_a_right_password_is_not_hashed_slowly_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def get() -> int:
        return served.request("GET", "/api/v1/mirror", headers=basic("alice", PASSWORD)).status_code

    assert get() == 200

    def refuse(*_: object) -> bool:
        raise AssertionError("hashed again")

    monkeypatch.setattr(identity.PasswordHash, "matches", refuse)
    assert get() == 200


@pytest.mark.parametrize("role", ["none", "viewer", "operator", "admin"])
def test_the_role_of_strangers_can_be_set(tmp_path: Path, role: str) -> None:
    with serving(tmp_path, f"{TOKENS}rest.anonymous.role = {role}\n") as served:
        answer = served.request("GET", "/api/v1/mirror")
        if role == "none":
            assert answer.status_code == 401
        else:
            assert who(answer) == ("anonymous", role)
        assert who(served.request("GET", "/api/v1/mirror", "admin")) == ("admins", "admin")
