"""The page about hooks: what it says to write can be read, and its scripts do what they say."""

from __future__ import annotations

import json
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.config.hook import STEPS
from heliograph.config.mirror_config import load
from heliograph.config.options.hooks import HOOK_OPTIONS
from heliograph.recovery.hooks.hooks import Hooks

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
CLUSTERS = """\
clusters = primary, backup
primary.bootstrap.servers = kafka-1.east.example.com:9092, kafka-2.east.example.com:9092
backup.bootstrap.servers = kafka-1.west.example.com:9092, kafka-2.west.example.com:9092
primary->backup.enabled = true
"""
RECORDER = '#!/bin/sh\nfor word in "$0" "$@"; do printf "%s\\0" "$word"; done >> "$CALLS"\nprintf "\\n" >> "$CALLS"\n'
Runner = Callable[..., list[list[str]]]


def blocks(kind: str) -> list[str]:
    """All examples of a kind."""
    found = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found


@pytest.fixture
def run_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Run a script of the page as a hook; the calls of programs that it makes, which only write themselves down."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("aws", "kubectl", "curl"):
        (programs / name).write_text(RECORDER + ("echo /change/C1\n" if name == "aws" else ""))
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    for text in blocks("sh"):
        name = re.findall(r"^# ([a-z-]+\.sh)$", text, re.MULTILINE)[0]
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(stat.S_IRWXU)

    def run(
        name: str, operation: str, when: str = "after verify", facts: dict[str, str] | None = None
    ) -> list[list[str]]:
        file = tmp_path / "mm2.properties"
        file.write_text(f"{CLUSTERS}hooks = it\nhooks.it.when = {when}\nhooks.it.command = ./{name}\n")
        config = load(file, {})
        (outcome,) = Hooks(config.hooks, operation, config.flows[0], "op-1").run(when.split()[0], "verify", facts or {})
        assert outcome.ok, outcome
        calls = (tmp_path / "calls").read_text().split("\0\n")[:-1]
        return [[Path(words[0]).name, *words[1:]] for words in (call.split("\0") for call in calls)]

    return run


def test_the_first_example_is_without_a_mistake(tmp_path: Path) -> None:
    (text,) = blocks("properties")
    (tmp_path / "secrets.properties").write_text("pager=canary\n")
    file = tmp_path / "mm2.properties"
    file.write_text(CLUSTERS + text.replace("/etc/heliograph/", f"{tmp_path}/"))
    config = load(file, {})
    assert [problem for problem in config.problems if problem.severity.value != "note"] == []
    assert len(config.hooks) == 4
    due = {
        operation: [hook.name for hook in config.hooks if hook.concerns(operation, "primary->backup")]
        for operation in ("switchover", "failover", "failback", "drill")
    }
    assert due == {
        "switchover": ["stop-producers", "dns", "pager"],
        "failover": ["dns-emergency", "pager"],
        "failback": ["dns", "pager"],
        "drill": [],
    }


def test_every_key_and_every_step_is_on_the_page() -> None:
    assert [option.name for option in HOOK_OPTIONS if f"| `hooks.NAME.{option.name}` |" not in PAGE] == []
    for operation, steps in STEPS.items():
        assert f"| `{operation}` | {', '.join(f'`{step}`' for step in steps)} |" in PAGE


@pytest.mark.parametrize(
    ("operation", "host"), [("failover", "kafka-1.west.example.com"), ("failback", "kafka-1.east.example.com")]
)
def test_the_name_moves_to_the_cluster_in_charge(run_script: Runner, operation: str, host: str) -> None:
    change, wait = run_script("move-dns.sh", operation)
    assert change[1:3] == ["route53", "change-resource-record-sets"]
    batch = json.loads(change[change.index("--change-batch") + 1])
    assert batch["Comment"] == "op-1"
    (item,) = batch["Changes"]
    assert (item["Action"], item["ResourceRecordSet"]["ResourceRecords"]) == ("UPSERT", [{"Value": host}])
    assert wait[1:] == ["route53", "wait", "resource-record-sets-changed", "--id", "/change/C1"]


def test_deployments_get_the_brokers_of_the_cluster_in_charge(run_script: Runner) -> None:
    calls = [" ".join(call) for call in run_script("move-deployments.sh", "failover")]
    servers = "kafka-1.west.example.com:9092,kafka-2.west.example.com:9092"
    assert f"kubectl --namespace shop set env deployment/orders KAFKA_BOOTSTRAP_SERVERS={servers}" in calls
    assert calls[-1] == "kubectl --namespace shop rollout status deployment/payments --timeout=120s"


def test_producers_are_stopped(run_script: Runner) -> None:
    (call,) = run_script("stop-producers.sh", "switchover")
    assert call[3:] == ["scale", "deployment/orders", "deployment/payments", "--replicas=0"]


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_a_page_is_sent(run_script: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGERDUTY_ROUTING_KEY", "key-1")
    (call,) = run_script("page.sh", "failover", "failed", {"error": 'said "no"'})
    body = json.loads(call[call.index("--data") + 1])
    assert (body["routing_key"], body["dedup_key"]) == ("key-1", "op-1")
    assert body["payload"]["summary"] == 'failover of primary->backup failed at verify: said "no"'
