"""Hooks as the file names them, and every mistake in them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.config.hook import Command, Hook, Moment, OnFailure, Webhook, When
from heliograph.config.mirror_config import MirrorConfig
from heliograph.errors import ConfigError

Loader = Callable[..., MirrorConfig]
Problems = Callable[..., list[str]]
CANARY = "canary-4be1d7"
DNS = "hooks = dns\nhooks.dns.when = after groups\nhooks.dns.command = ./move-dns.sh\n"
PAGER = f"""\
hooks = pager
hooks.pager.when = before *, after groups, failed
hooks.pager.url = https://user:{CANARY}@pager.example:8443/{CANARY}?key={CANARY}
hooks.pager.headers = Authorization: Bearer {CANARY}, "X-Tags: a, {CANARY}"
hooks.pager.operations = failover, Drill
hooks.pager.flows = a->b, b->a
hooks.pager.timeout.seconds = 1.5
hooks.pager.on.failure = continue
"""


def test_a_file_without_hooks_has_none(load_text: Loader) -> None:
    assert load_text().hooks == ()
    assert load_text("hooks =\n").hooks == ()


def test_a_command_needs_only_its_moment(load_text: Loader, tmp_path: Path, problems_of: Problems) -> None:
    (hook,) = load_text(DNS).hooks
    assert isinstance(hook.action, Command)
    assert (hook.name, hook.moments) == ("dns", (Moment(When.AFTER, "groups"),))
    assert (hook.action.text.reveal(), hook.action.folder) == ("./move-dns.sh", tmp_path)
    assert (hook.operations, hook.flows) == (("switchover", "failover", "failback"), ())
    assert (hook.timeout_seconds, hook.on_failure) == (60, OnFailure.STOP)
    assert str(hook) == "dns: ./move-dns.sh"
    assert problems_of(DNS) == []


def test_a_webhook_is_read_with_all_its_keys(load_text: Loader, problems_of: Problems) -> None:
    (hook,) = load_text(PAGER).hooks
    assert isinstance(hook.action, Webhook)
    assert list(map(str, hook.moments)) == ["before *", "after groups", "failed"]
    assert hook.action.url.reveal() == f"https://user:{CANARY}@pager.example:8443/{CANARY}?key={CANARY}"
    headers = {name: value.reveal() for name, value in hook.action.headers}
    assert headers == {"Authorization": f"Bearer {CANARY}", "X-Tags": f"a, {CANARY}"}
    assert (hook.operations, hook.flows) == (("failover", "drill"), ("a->b", "b->a"))
    assert (hook.timeout_seconds, hook.on_failure) == (1.5, OnFailure.CONTINUE)
    assert str(hook) == "pager: POST to https://pager.example:8443"
    assert problems_of(PAGER) == []


def test_hooks_keep_the_order_in_which_they_are_named(load_text: Loader) -> None:
    text = "".join(f"hooks.{name}.when = failed\nhooks.{name}.command = true\n" for name in "abc")
    assert [hook.name for hook in load_text(f"{text}hooks = c, a, b\n").hooks] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("moment", "due", "not_due"),
    [
        ("before groups", [("before", "groups")], [("after", "groups"), ("before", "drain"), ("failed", "groups")]),
        ("after *", [("after", "groups"), ("after", "drain")], [("before", "groups"), ("failed", "groups")]),
        ("failed", [("failed", "groups"), ("failed", "")], [("before", "groups"), ("after", "groups")]),
    ],
)
def test_moments(load_text: Loader, moment: str, due: list[tuple[str, str]], not_due: list[tuple[str, str]]) -> None:
    (hook,) = load_text(DNS.replace("after groups", moment)).hooks
    assert [hook.is_due(When(when), step) for when, step in due] == [True] * len(due)
    assert [hook.is_due(When(when), step) for when, step in not_due] == [False] * len(not_due)


def test_a_drill_runs_only_hooks_that_name_it(load_text: Loader) -> None:
    def concerned(text: str) -> list[str]:
        (hook,) = load_text(text).hooks
        return [name for name in ("switchover", "failover", "failback", "drill") if hook.concerns(name, "a->b")]

    assert concerned(DNS) == ["switchover", "failover", "failback"]
    assert concerned(f"{DNS}hooks.dns.operations = drill\nhooks.dns.when = after loss\n") == ["drill"]


def test_a_hook_may_be_for_some_flows_only(load_text: Loader) -> None:
    (hook,) = load_text(f"{DNS}hooks.dns.flows = a->b\n").hooks
    assert hook.concerns("failover", "a->b")
    assert not hook.concerns("failover", "b->a")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("hooks = dns", "hooks.dns.when: is missing"),
        ("hooks = dns\nhooks.dns.when = failed", "hooks.dns.command: is missing"),
        ("hooks = a b", "hooks: 'a b' does not look like dns, pager"),
        ("hooks = a.b", "hooks: 'a.b' does not look like dns, pager"),
        (f"{DNS}hooks = dns, dns", "hooks: names dns 2 times"),
        (f"{DNS}hooks.dns.url = https://x.example/", "hooks.dns.url: stands beside a command"),
        (f"{DNS}hooks.dns.headers = X: {CANARY}", "hooks.dns.headers: has no effect: only webhooks have headers"),
        (f"{DNS}hooks.dns.comand = x", "hooks.dns.comand: is not a key of a hook (did you mean command?)"),
        (f"{DNS}hooks.dns.xyz = x", "hooks.dns.xyz: is not a key of a hook (hooks have when, command, url,"),
        (f"{DNS}hooks.dns.when = groups", "hooks.dns.when: is not a list of before STEP, after STEP and failed"),
        (f"{DNS}hooks.dns.when = after", "hooks.dns.when: is not a list of"),
        (f"{DNS}hooks.dns.when = failed groups", "hooks.dns.when: is not a list of"),
        (f"{DNS}hooks.dns.when = after groups,", "hooks.dns.when: is not a list of"),
        (
            f"{DNS}hooks.dns.when = after Groups!",
            "hooks.dns.when: there is no step Groups! in switchover, failover, failback (did you mean groups?)",
        ),
        (
            f"{DNS}hooks.dns.when = before x",
            "no step x in switchover, failover, failback (steps are check, producers, drain",
        ),
        (f"{DNS}hooks.dns.operations = fail", "hooks.dns.operations: is not one of the possible values"),
        (f"{DNS}hooks.dns.operations = drill", "hooks.dns.when: there is no step groups in drill (steps are prepare,"),
        (f"{DNS}hooks.dns.flows = a->c", "hooks.dns.flows: a->c is not a flow (write A->B; clusters are a, b)"),
        (f"{DNS}hooks.dns.flows = a->a", "hooks.dns.flows: a->a is not a flow"),
        (f"{DNS}hooks.dns.flows = a", "hooks.dns.flows: a is not a flow"),
        (f"{DNS}hooks.dns.timeout.seconds = soon", "hooks.dns.timeout.seconds: is not a number"),
        (f"{DNS}hooks.dns.timeout.seconds = 0", "hooks.dns.timeout.seconds: is too small"),
        (f"{DNS}hooks.dns.on.failure = rollback", "hooks.dns.on.failure: is not one of the possible values"),
        (f"{PAGER}hooks.pager.url = ftp://{CANARY}/", "hooks.pager.url: is not an address"),
        (f"{PAGER}hooks.pager.url = https://{CANARY}:0/", "hooks.pager.url: is not an address"),
        (f"{PAGER}hooks.pager.url = https://[{CANARY}/", "hooks.pager.url: is not an address"),
        (f"{PAGER}hooks.pager.url = https://x/a {CANARY}", "hooks.pager.url: is not an address"),
        (f"{PAGER}hooks.pager.headers = {CANARY}", "hooks.pager.headers: is not a list of Name: value"),
    ],
)
def test_mistakes_are_told_with_their_line_and_without_secrets(load_text: Loader, lines: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_text(f"{lines}\n")
    errors = [problem for problem in raised.value.problems if problem.severity.value == "error"]
    assert any(told in str(problem) for problem in errors), errors
    assert all(problem.line and problem.line > 4 for problem in errors)
    assert CANARY not in str(raised.value)


def test_all_mistakes_are_told_at_once(load_text: Loader) -> None:
    text = """\
hooks = one, two
hooks.one.when = sometimes
hooks.one.command = true
hooks.two.when = failed
hooks.two.url = nowhere
hooks.two.timeout.seconds = -1
tasks.max = many
"""
    with pytest.raises(ConfigError) as raised:
        load_text(text)
    assert [(problem.line, problem.key) for problem in raised.value.problems] == [
        (6, "hooks.one.when"),
        (9, "hooks.two.url"),
        (10, "hooks.two.timeout.seconds"),
        (11, "tasks.max"),
    ]


def test_keys_of_a_hook_that_is_not_named_are_doubtful(problems_of: Problems) -> None:
    assert problems_of("hooks.dns.command = true\n") == [
        "warning hooks.dns.command: has no effect: dns is not in hooks (add dns to hooks)"
    ]
    (found,) = problems_of(f"{DNS}hooks.dsn.flows = a->b\n")
    assert found.endswith("(did you mean hooks.dns.flows?)")


def test_a_webhook_in_the_clear_is_doubtful_unless_it_is_this_machine(problems_of: Problems) -> None:
    text = "hooks = x\nhooks.x.when = failed\nhooks.x.url = http://{}/\n"
    assert problems_of(text.format("127.0.0.1:9")) == []
    (found,) = problems_of(text.format("pager.example"))
    assert found.startswith("warning hooks.x.url: what is sent there is not encrypted")


def test_a_reference_that_cannot_be_resolved_is_told_once(problems_of: Problems) -> None:
    found = problems_of("hooks = x\nhooks.x.when = failed\nhooks.x.url = ${file:/nowhere:url}\n")
    assert len([problem for problem in found if problem.startswith("error")]) == 1


def test_a_cluster_may_be_called_hooks_if_there_are_none(load_text: Loader) -> None:
    base = "clusters = hooks, b\nhooks.bootstrap.servers = a:1\nb.bootstrap.servers = b:1\nhooks->b.enabled = true\n"
    assert load_text(base=base).problems == ()
    with pytest.raises(ConfigError, match="hooks: cannot be told from the cluster of that name"):
        load_text("hooks = dns\n", base=base)


def test_what_providers_keep_is_known_to_be_secret(load_text: Loader) -> None:
    text = "hooks = x\nhooks.x.when = failed\nhooks.x.command = page --key ${env:KEY}\na.client.id = ${env:OTHER}\n"
    (hook,) = load_text(text, environment={"KEY": CANARY, "OTHER": "elsewhere"}).hooks
    assert isinstance(hook.action, Command)
    assert hook.action.text.reveal() == f"page --key {CANARY}"
    assert [secret.reveal() for secret in hook.secrets] == [CANARY]
    assert str(hook) == "x: page --key ${env:KEY}"
    assert CANARY not in repr(hook)


def test_hooks_travel_with_a_configuration(load_text: Loader) -> None:
    config = load_text(PAGER)
    hooks: tuple[Hook, ...] = pickle.loads(pickle.dumps(config)).hooks
    assert hooks == config.hooks
    assert CANARY not in repr(config)


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
@pytest.mark.parametrize("command", ["check", "explain"])
def test_no_output_shows_an_address_or_a_header(
    load_text: Loader, command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = load_text(PAGER).file
    with pytest.raises(SystemExit) as ended:
        main(["config", command, file, "-o", output])
    shown = capsys.readouterr()
    assert not ended.value.code
    assert CANARY not in shown.out + shown.err
