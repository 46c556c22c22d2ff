"""Which requests for operations are refused, and how: none of these gets as far as a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heliograph.control.rest.operation_views import journal_views
from heliograph.model import OperationNote
from tests.control.rest.serving import TOKENS, Lines, Served, serving

_PATH = "/api/v1/operations"
_BEGIN: dict[str, Any] = {"operation": "switchover", "flow": "a->b", "confirm": "a->b"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A flow that mirrors, one that only writes heartbeats, and a caller of each role."""
    with serving(tmp_path_factory.mktemp("operations"), TOKENS) as running:
        yield running


def _post(served: Served, role: str = "admin", **changes: object) -> tuple[int, str]:
    answer = served.request("POST", _PATH, role, json={**_BEGIN, **changes})
    assert answer.json()["error_code"] == answer.status_code
    return answer.status_code, answer.json()["message"]


@pytest.mark.parametrize("confirm", [None, "", "a", "b->a", "A->B", " a->b"])
def test_what_changes_clusters_takes_the_flows_name_again(served: Served, confirm: str | None) -> None:
    for operation in ("switchover", "failover", "failback"):
        code, text = _post(served, operation=operation, confirm=confirm)
        assert (code, text) == (
            400,
            'this changes clusters: to begin, send "confirm": "a->b", the name of the flow',
        )
    assert _post(served, undo=True, confirm=confirm)[0] == 400


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"flow": "a->z", "confirm": "a->z"}, 404, "there is no flow a->z; flows are a->b, b->a"),
        ({"flow": "b->a", "confirm": "b->a"}, 400, "b->a mirrors nothing, it only writes heartbeats"),
        ({"operation": "drop"}, 400, "body.operation: "),
        ({"dry_run": "false"}, 400, "body.dry_run: "),
        ({"confirmed": True}, 400, "body.confirmed: "),
        ({"options": {"fence": "wall"}}, 400, "body.options.fence: "),
        ({"options": {"quiet": 1}}, 400, "body.options.quiet: "),
        ({"options": {"quiet_seconds": 0}}, 400, "body.options.quiet_seconds: "),
        ({"options": {"patience_seconds": -1}}, 400, "body.options.patience_seconds: "),
        ({"options": {"verify_seconds": None}}, 400, "options.verify_seconds: null is for verify alone"),
        ({"options": {"tail_topic": "lost"}}, 400, "switchover has no option tail_topic"),
        ({"operation": "failback", "options": {"tail_topic": "../lost"}}, 400, "body.options.tail_topic: "),
        ({"operation": "failover", "options": {"fence": "acl"}}, 400, "failover has no option fence"),
        ({"operation": "failover", "undo": True}, 400, "failover is not put back; use failback"),
        ({"operation": "verify", "undo": True}, 400, "verify is not put back"),
        ({"operation": "verify", "options": {"verify_seconds": 0}}, 400, "options.verify_seconds: 0 would compare"),
        ({"undo": True, "dry_run": True}, 400, "there is no dry run of putting back"),
    ],
)
def test_wrong_requests_get_a_clear_answer(served: Served, changes: dict[str, Any], code: int, text: str) -> None:
    assert _post(served, **changes)[0] == code
    assert _post(served, **changes)[1].startswith(text)


@pytest.mark.parametrize(
    ("role", "changes", "code"),
    [
        ("viewer", {"dry_run": True}, 403),
        ("viewer", {"operation": "verify"}, 403),
        ("viewer", {}, 403),
        ("operator", {}, 403),
        ("operator", {"undo": True}, 403),
        ("operator", {"operation": "failover"}, 403),
        ("operator", {"operation": "failback", "confirm": "wrong"}, 403),  # before anything is said about the rest
        ("operator", {"dry_run": True, "flow": "a->z"}, 404),
        ("operator", {"operation": "verify", "flow": "a->z"}, 404),
        ("admin", {"flow": "a->z"}, 404),
    ],
)
def test_only_admins_begin_what_changes_clusters(
    served: Served, audited: Lines, role: str, changes: dict[str, Any], code: int
) -> None:
    assert _post(served, role, **changes)[0] == code
    [line] = audited.parsed()
    assert (line["who"], line["what"], line["code"]) == (f"{role}s", f"POST {_PATH}", code)
    assert line["outcome"] == ("refused" if code == 403 else "failed")


def test_operations_can_be_listed_while_no_journal_can_be_read(served: Served) -> None:
    answer = served.request("GET", _PATH, "viewer").json()
    assert answer["operations"] == []
    assert [text.partition(": ")[0] for text in answer["unread"]] == ["a->b"]


@pytest.mark.parametrize(("method", "below"), [("GET", ""), ("POST", "/stop")])
def test_an_operation_that_nobody_knows(served: Served, method: str, below: str) -> None:
    answer = served.request(method, f"{_PATH}/switchover-1{below}", "admin")
    assert answer.status_code == 404
    assert "no operation switchover-1" in answer.json()["message"]


def _notes(*lines: tuple[str, str, str]) -> list[OperationNote]:
    return [
        OperationNote("switchover", "switchover-1", step, state, text, "me@here", 1000 * number)
        for number, (step, state, text) in enumerate(lines, start=1)
    ]


_BEGUN = [("", "began", ""), ("check", "began", ""), ("check", "done", "all well"), ("close", "began", "")]


@pytest.mark.parametrize(
    ("more", "state", "error", "steps"),
    [
        ([], "unfinished", "", {"check": "done", "close": "unfinished"}),
        ([("close", "done", ""), ("", "done", "in 4 s")], "done", "", {"check": "done", "close": "done"}),
        (
            [("close", "failed", "why"), ("check", "undone", ""), ("close", "undone", ""), ("", "failed", "why")],
            "failed",
            "why",
            {"check": "put back", "close": "failed"},
        ),
        ([("check", "undone", ""), ("", "failed", "as asked")], "put back", "", {"check": "put back", "close": "x"}),
        ([("", "began", "")], "unfinished", "", {"check": "done", "close": "unfinished"}),  # gone on with elsewhere
    ],
)
def test_the_journal_tells_how_an_operation_went(
    more: list[tuple[str, str, str]], state: str, error: str, steps: dict[str, str]
) -> None:
    begun = _BEGUN if steps["close"] != "x" else _BEGUN[:1]
    [found] = journal_views("a->b", _notes(*begun, *more))
    assert (found.id, found.flow, found.state, found.error, found.by) == (
        "switchover-1", "a->b", state, error, "me@here",
    )  # fmt: skip
    assert {step.step: step.state for step in found.steps} == {
        name: word for name, word in steps.items() if word != "x"
    }
    assert found.began_at_ms == 1000
    assert found.seconds == len(begun) + len(more) - 1
    assert not found.is_here


def test_two_operations_of_a_journal_are_kept_apart() -> None:
    first = _notes(("", "began", ""), ("", "done", ""))
    other = [OperationNote("failover", "failover-2", "", "began", "", "me", 9000)]
    assert [(item.operation, item.state) for item in journal_views("a->b", [*first, *other])] == [
        ("switchover", "done"),
        ("failover", "unfinished"),
    ]
