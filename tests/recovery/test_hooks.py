"""Commands and webhooks that run at the steps of an operation, for real."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from heliograph.config.hook import STEPS
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import HookFailed
from heliograph.recovery.drill.story import DrillStory
from heliograph.recovery.failback import TailOptions, failback
from heliograph.recovery.failover import failover
from heliograph.recovery.hooks.hooks import HookOutcome, Hooks
from heliograph.recovery.switchover import MoveOptions, switchover
from tests.waiting import is_gone, wait_until
from tests.zoo.topics import fresh_name

BASE = """\
clusters = a, b
a.bootstrap.servers = one.a:9092, two.a:9092
b.bootstrap.servers = PLAINTEXT://one.b:9092
a.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="u" password="canary-jaas";
a.security.protocol = SASL_PLAINTEXT
a.sasl.mechanism = PLAIN
a->b.enabled = true
"""
MakeHooks = Callable[..., Hooks]


@pytest.fixture
def config_of(tmp_path: Path) -> Callable[..., MirrorConfig]:
    def make(text: str, environment: dict[str, str] | None = None) -> MirrorConfig:
        file = tmp_path / "mm2.properties"
        file.write_text(BASE + text)
        return load(file, environment or {})

    return make


@pytest.fixture
def hooks_of(config_of: Callable[..., MirrorConfig]) -> MakeHooks:
    """The hooks of a failover of a->b, from their lines."""

    def make(text: str, operation: str = "failover", environment: dict[str, str] | None = None) -> Hooks:
        config = config_of(text, environment)
        return Hooks(config.hooks, operation, config.flows[0], "op-1")

    return make


def hook_lines(name: str, action: str, when: str = "after groups", **more: str) -> str:
    """The lines of one hook, its name aside from `hooks`."""
    lines = [f"hooks.{name}.when = {when}", f"hooks.{name}.{action}"]
    return (
        "\n".join([*lines, *(f"hooks.{name}.{key.replace('_', '.')} = {value}" for key, value in more.items())]) + "\n"
    )


def one(action: str, when: str = "after groups", **more: str) -> str:
    """A file's lines with one hook, `it`."""
    return f"hooks = it\n{hook_lines('it', action, when, **more)}"


def ran(hooks: Hooks, facts: dict[str, str] | None = None, when: str = "after", step: str = "groups") -> HookOutcome:
    (outcome,) = hooks.run(when, step, facts or {})
    return outcome


# -- commands ----------------------------------------------------------------------------------------------


def test_a_command_is_told_what_it_is_about(
    hooks_of: MakeHooks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("HELIOGRAPH_")]:
        monkeypatch.delenv(name)  # commands have all of ours too
    (tmp_path / "tell.sh").write_text("env | grep ^HELIOGRAPH_ | sort\npwd\n")
    hooks = hooks_of(one("command = sh ./tell.sh"))
    outcome = ran(hooks, {"groups.moved": "12", "lost records": "3"})
    assert outcome.output.splitlines() == [
        "HELIOGRAPH_DRY_RUN=false",
        "HELIOGRAPH_FACT_GROUPS_MOVED=12",
        "HELIOGRAPH_FACT_LOST_RECORDS=3",
        "HELIOGRAPH_FLOW=a->b",
        "HELIOGRAPH_HOOK=it",
        "HELIOGRAPH_OPERATION=failover",
        "HELIOGRAPH_OPERATION_ID=op-1",
        "HELIOGRAPH_SOURCE=a",
        "HELIOGRAPH_SOURCE_SERVERS=one.a:9092,two.a:9092",
        "HELIOGRAPH_STEP=groups",
        "HELIOGRAPH_TARGET=b",
        "HELIOGRAPH_TARGET_SERVERS=one.b:9092",
        "HELIOGRAPH_TO=b",
        "HELIOGRAPH_TO_SERVERS=one.b:9092",
        "HELIOGRAPH_WHEN=after",
        str(tmp_path),
    ]
    assert (outcome.name, outcome.ok, outcome.code, outcome.reason) == ("it", True, 0, "")


def test_a_drill_says_that_it_is_one(hooks_of: MakeHooks) -> None:
    command = "command = echo $HELIOGRAPH_OPERATION $HELIOGRAPH_DRY_RUN"
    hooks = hooks_of(one(command, "after loss", operations="drill"), "drill")
    assert ran(hooks, step="loss").output == "drill true"


def test_the_users_own_environment_is_there_and_no_secret_of_the_file(
    hooks_of: MakeHooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "dr")
    shown = ran(hooks_of(one("command = env"))).output
    assert "AWS_PROFILE=dr" in shown.splitlines()
    assert "canary-jaas" not in shown


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        ("exit 7", 7, "ended with code 7"),
        ("no-such-program-here", 127, "ended with code 127"),
        ("kill -9 $$", -9, "was ended by signal 9"),
    ],
)
def test_a_command_that_fails_stops_the_operation(hooks_of: MakeHooks, command: str, code: int, reason: str) -> None:
    hooks = hooks_of(one(f"command = echo so far; {command}"))
    with pytest.raises(HookFailed, match=f"^hook it, after groups: {reason}\nso far") as raised:
        hooks.run("after", "groups", {})
    (outcome,) = raised.value.outcomes
    assert (outcome.ok, outcome.code, outcome.reason) == (False, code, reason)


def test_a_failure_shows_the_last_lines_and_no_more(hooks_of: MakeHooks) -> None:
    with pytest.raises(HookFailed) as raised:
        hooks_of(one("command = seq 1 100; false")).run("after", "groups", {})
    assert str(raised.value).splitlines()[1:] == [str(number) for number in range(91, 101)]
    assert raised.value.outcomes[0].output.splitlines()[0] == "1"


def test_a_command_in_a_folder_that_is_gone_fails(hooks_of: MakeHooks, tmp_path: Path) -> None:
    hooks = hooks_of(one("command = true"))
    tmp_path.rename(tmp_path.with_name("elsewhere"))
    try:
        with pytest.raises(HookFailed, match="could not be started: No such file or directory"):
            hooks.run("after", "groups", {})
    finally:
        tmp_path.with_name("elsewhere").rename(tmp_path)


def three(**of_second: str) -> str:
    lines = [hook_lines("first", "command = echo 1"), hook_lines("second", "command = echo 2; false", **of_second)]
    return "".join(["hooks = first, second, third\n", *lines, hook_lines("third", "command = echo 3")])


def test_hooks_run_in_order_and_none_after_the_one_that_stops(hooks_of: MakeHooks) -> None:
    with pytest.raises(HookFailed) as raised:
        hooks_of(three()).run("after", "groups", {})
    assert [(outcome.name, outcome.ok) for outcome in raised.value.outcomes] == [("first", True), ("second", False)]


def test_where_the_file_says_so_the_operation_goes_on(hooks_of: MakeHooks) -> None:
    outcomes = hooks_of(three(on_failure="continue")).run("after", "groups", {})
    assert [(outcome.output, outcome.ok) for outcome in outcomes] == [("1", True), ("2", False), ("3", True)]


def test_when_all_has_failed_every_hook_runs_and_hears_why(hooks_of: MakeHooks) -> None:
    command = "command = echo $HELIOGRAPH_WHEN $HELIOGRAPH_STEP: $HELIOGRAPH_ERROR; false"
    text = f"hooks = one, two\n{hook_lines('one', command, 'failed')}{hook_lines('two', command, 'failed')}"
    outcomes = hooks_of(text).run("failed", "drain", {"error": "it rains"})
    assert [(outcome.output, outcome.ok) for outcome in outcomes] == [("failed drain: it rains", False)] * 2


def test_only_hooks_of_the_moment_the_operation_and_the_flow_run(hooks_of: MakeHooks) -> None:
    text = one("command = echo hello")
    hooks = hooks_of(text)
    assert (
        hooks.run("before", "groups", {}) == hooks.run("after", "drain", {}) == hooks.run("failed", "groups", {}) == []
    )
    assert hooks_of(text, "drill").run("after", "groups", {}) == []
    assert hooks_of(one("command = echo hello", flows="b->a")).run("after", "groups", {}) == []


def test_what_would_run_is_told_and_not_run(hooks_of: MakeHooks, tmp_path: Path) -> None:
    hooks = hooks_of(one("command = touch was-here ${env:KEY}", "after *"), environment={"KEY": "canary-key"})
    assert hooks.planned("after", "drain") == ["it: touch was-here ${env:KEY}"]
    assert hooks.planned("before", "drain") == []
    assert not (tmp_path / "was-here").exists()


@pytest.mark.kafka
def test_every_step_can_have_hooks(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> None:
    """The file is checked against a list of names, which must be those of the steps."""
    one, two = fresh_name("steps-a"), fresh_name("steps-b")
    file = tmp_path / "mm2.properties"
    servers = (
        f"{one}.bootstrap.servers={primary.bootstrap_servers}\n{two}.bootstrap.servers={backup.bootstrap_servers}\n"
    )
    file.write_text(f"clusters={one},{two}\n{servers}{one}->{two}.enabled=true\ntopics=none\n")
    config = load(file, {})
    flow = config.flow(f"{one}->{two}")
    assert flow is not None
    operations = [
        switchover(config, flow, MoveOptions()),
        failover(config, flow),
        failback(config, flow, MoveOptions(), TailOptions(tmp_path / "tail")),
    ]
    for operation in operations:
        operation._close()
    steps = {operation.report.operation: [step.name for step in operation.report.steps] for operation in operations}
    steps["drill"] = list(DrillStory.steps(MagicMock()))
    assert steps == {operation: list(names) for operation, names in STEPS.items()}, "change STEPS in config/hook.py"


@pytest.mark.parametrize(
    ("operation", "to"),
    [("switchover", "b one.b:9092"), ("failover", "b one.b:9092"), ("failback", "a one.a:9092,two.a:9092")],
)
def test_hooks_hear_where_clients_belong_afterwards(hooks_of: MakeHooks, operation: str, to: str) -> None:
    assert ran(hooks_of(one("command = echo $HELIOGRAPH_TO $HELIOGRAPH_TO_SERVERS"), operation)).output == to


def test_a_timeout_ends_the_command_with_all_that_it_has_started(hooks_of: MakeHooks, tmp_path: Path) -> None:
    """The grandchild ignores the kind request, has let go of the pipe, and must be gone all the same."""
    stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"
    (tmp_path / "stubborn.sh").write_text(stubborn)
    command = "command = echo before; (sh ./stubborn.sh >/dev/null 2>&1 &) ; sleep 60; echo after"
    hooks = hooks_of(one(command, timeout_seconds="2"))
    began = time.monotonic()
    with pytest.raises(HookFailed) as raised:
        hooks.run("after", "groups", {})
    assert time.monotonic() - began < 15
    (outcome,) = raised.value.outcomes
    assert (outcome.code, outcome.output) == (None, "before")
    assert outcome.reason == "was ended after 2 s, with all that it had started"
    grandchild = int((tmp_path / "pid").read_text())
    wait_until(lambda: is_gone(grandchild), "the end of the grandchild", 5)


def test_a_command_has_a_moment_to_end_by_itself(hooks_of: MakeHooks, tmp_path: Path) -> None:
    command = "command = trap 'echo cleaned > done; exit 1' TERM; while :; do sleep 0.05; done"
    with pytest.raises(HookFailed):
        hooks_of(one(command, timeout_seconds="1")).run("after", "groups", {})
    assert (tmp_path / "done").read_text() == "cleaned\n"


def test_an_interrupted_operation_leaves_no_command_behind(hooks_of: MakeHooks, tmp_path: Path) -> None:
    hooks = hooks_of(one("command = echo $$ > pid; sleep 60"))

    def interrupt() -> None:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "the command", 10)
        signal.pthread_kill(main_thread, signal.SIGINT)

    main_thread = threading.get_ident()
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        hooks.run("after", "groups", {})
    thread.join()
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_what_stays_in_the_background_holds_nobody_up(hooks_of: MakeHooks, tmp_path: Path) -> None:
    began = time.monotonic()
    outcome = ran(hooks_of(one("command = echo done; sleep 30 & echo $! > pid")))
    assert (outcome.ok, outcome.output) == (True, "done")
    assert time.monotonic() - began < 15
    child = int((tmp_path / "pid").read_text())
    assert not is_gone(child)
    os.kill(child, signal.SIGKILL)


def test_of_much_output_the_end_is_kept(hooks_of: MakeHooks) -> None:
    outcome = ran(hooks_of(one("command = seq 1 200000; printf 'the\\\\033[31m end' >&2")))
    assert len(outcome.output) == 4096
    assert outcome.output.endswith("\n200000\nthe[31m end")


def test_output_does_not_show_what_providers_keep(hooks_of: MakeHooks) -> None:
    text = one("command = echo key ${env:KEY}")
    assert ran(hooks_of(text, environment={"KEY": "canary-key"})).output == "key [hidden]"


def test_a_secret_is_hidden_even_where_the_output_is_cut(hooks_of: MakeHooks) -> None:
    secret = "s" * 500
    command = f"command = echo ${{env:KEY}}; head -c {4096 - 250} /dev/zero | tr '\\\\0' x"
    assert "ss" not in ran(hooks_of(one(command), environment={"KEY": secret})).output


def test_large_facts_do_not_keep_a_command_from_running(hooks_of: MakeHooks) -> None:
    outcome = ran(hooks_of(one('command = echo "${#HELIOGRAPH_FACT_LIST}"')), {"list": "x" * 1_000_000, "nul": "a\0b"})
    assert outcome.output == "32768"


# -- webhooks ----------------------------------------------------------------------------------------------


class Receiver:
    """A webhook in this process: what it was sent, and how it answers."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.status, self.answer = 200, b"thanks"
        self.more_headers: dict[str, str] = {}
        self.url = ""


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            receiver.headers.append(dict(self.headers))
            receiver.paths.append(self.path)
            self.send_response(receiver.status)
            for name, value in receiver.more_headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy this machine needs, it is not for itself."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def test_a_webhook_is_told_the_same(hooks_of: MakeHooks, receiver: Receiver) -> None:
    text = one(f"url = {receiver.url}/page?key=k", headers="Authorization: Bearer canary-token, X-Team: dr")
    outcome = ran(hooks_of(text), {"groups.moved": "12"})
    assert (outcome.ok, outcome.code, outcome.output) == (True, 200, "thanks")
    assert receiver.paths == ["/page?key=k"]
    (headers,) = receiver.headers
    assert (headers["Authorization"], headers["X-Team"]) == ("Bearer canary-token", "dr")
    assert headers["Content-Type"] == "application/json"
    assert receiver.bodies == [
        {
            "operation": "failover",
            "operation_id": "op-1",
            "flow": "a->b",
            "source": "a",
            "target": "b",
            "source_servers": "one.a:9092,two.a:9092",
            "target_servers": "one.b:9092",
            "to": "b",
            "to_servers": "one.b:9092",
            "dry_run": False,
            "step": "groups",
            "when": "after",
            "hook": "it",
            "facts": {"groups.moved": "12"},
        }
    ]


def test_a_webhook_hears_why_an_operation_has_failed(hooks_of: MakeHooks, receiver: Receiver) -> None:
    hooks_of(one(f"url = {receiver.url}/", "failed")).run("failed", "drain", {"error": "it rains"})
    (body,) = receiver.bodies
    assert (body["when"], body["step"], body["error"], body["facts"]) == ("failed", "drain", "it rains", {})


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_anything_but_a_yes_is_a_failure_and_is_not_tried_again(
    hooks_of: MakeHooks, receiver: Receiver, status: int
) -> None:
    receiver.status = status
    with pytest.raises(HookFailed, match=f"answered {status} ") as raised:
        hooks_of(one(f"url = {receiver.url}/")).run("after", "groups", {})
    assert raised.value.outcomes[0].code == status
    assert len(receiver.bodies) == 1


def test_redirects_are_not_followed(hooks_of: MakeHooks, receiver: Receiver) -> None:
    with receiving() as elsewhere:
        receiver.status, receiver.more_headers = 307, {"Location": elsewhere.url}
        with pytest.raises(HookFailed, match="answered 307"):
            hooks_of(one(f"url = {receiver.url}/")).run("after", "groups", {})
        assert elsewhere.bodies == []


def test_no_secret_of_a_call_comes_back(hooks_of: MakeHooks, receiver: Receiver) -> None:
    receiver.status = 404
    receiver.answer = b"no such page: /services/canary-path?key=canary-query, token was canary-token"
    text = one(
        f"url = {receiver.url}/services/canary-path?key=canary-query", headers="Authorization: Bearer canary-token"
    )
    with pytest.raises(HookFailed) as raised:
        hooks_of(text).run("after", "groups", {})
    assert "canary" not in str(raised.value) + repr(raised.value.outcomes)
    assert "no such page: [hidden]?[hidden], token was [hidden]" in str(raised.value)


@contextmanager
def raw_server(serve: Callable[[socket.socket], None], calls: int) -> Iterator[tuple[str, list[int]]]:
    """A server that treats its callers as told; its address, and the numbers of those that it has had."""
    listening = socket.create_server(("127.0.0.1", 0))
    had: list[int] = []

    def run() -> None:
        for number in range(calls):
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                had.append(number)
                serve(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", had
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def test_a_lost_connection_is_tried_once_more(hooks_of: MakeHooks) -> None:
    answers = iter([b"", b"HTTP/1.1 204 No Content\r\n\r\n"])

    def serve(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(next(answers))

    with raw_server(serve, 2) as (url, had):
        assert ran(hooks_of(one(f"url = {url}/"))).code == 204
        assert had == [0, 1]


def test_and_not_a_third_time(hooks_of: MakeHooks) -> None:
    with raw_server(lambda connection: None, 5) as (url, had):
        with pytest.raises(HookFailed, match="cannot be reached: ") as raised:
            hooks_of(one(f"url = {url}/")).run("after", "groups", {})
        assert had == [0, 1]
    assert raised.value.outcomes[0].code is None


def test_nobody_there_is_told(hooks_of: MakeHooks) -> None:
    with pytest.raises(HookFailed, match="hook it, after groups: cannot be reached: "):
        hooks_of(one("url = http://127.0.0.1:1/")).run("after", "groups", {})


def test_a_webhook_that_drips_its_answer_has_an_end(hooks_of: MakeHooks) -> None:
    """Each piece comes soon enough; only all of them together would take for ever."""
    is_over = threading.Event()

    def serve(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not is_over.wait(0.02):
            try:
                connection.sendall(b"x")
            except OSError:
                return

    with raw_server(serve, 1) as (url, _):
        began = time.monotonic()
        with pytest.raises(HookFailed, match=r"did not answer within 0\.5 s"):
            hooks_of(one(f"url = {url}/", timeout_seconds="0.5")).run("after", "groups", {})
        assert time.monotonic() - began < 15
        is_over.set()


def test_a_long_answer_is_read_in_part(hooks_of: MakeHooks, receiver: Receiver) -> None:
    receiver.answer = b"y" * 1_000_000
    assert ran(hooks_of(one(f"url = {receiver.url}/"))).output == "y" * 4096


def test_an_answer_without_an_end_is_an_answer(hooks_of: MakeHooks) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                connection.sendall(b"z" * 65_536)
        except OSError:
            return

    with raw_server(serve, 1) as (url, _):
        outcome = ran(hooks_of(one(f"url = {url}/", timeout_seconds="5")))
    assert (outcome.ok, outcome.output) == (True, "z" * 4096)


def test_outcomes_can_be_written_down() -> None:
    outcome = HookOutcome("it", False, 1.23456, 7, "out", "ended with code 7")
    assert str(outcome) == "hook it: ended with code 7 (1.2 s): out"
    assert json.loads(json.dumps(outcome.to_dict())) == {
        "hook": "it",
        "ok": False,
        "seconds": 1.235,
        "code": 7,
        "output": "out",
        "reason": "ended with code 7",
    }
