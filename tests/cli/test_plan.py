"""`heliograph plan` on real clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.cli.output import Format, show
from heliograph.cli.plan import FlowPlan, PlanResult
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.acls import Acl, Pattern, Permission
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, Operation
from heliograph.sync.acls import AclDrift
from heliograph.sync.topic_settings import SettingChanges, SettingsDrift
from heliograph.sync.topics import TopicPlan

pytestmark = pytest.mark.kafka


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def target(backup: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("b", backup.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture(scope="module")
def file(primary: EmbeddedCluster, target: Admin, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One topic to create, one to extend, one to alter, one to skip."""
    with Admin(Access("planned", primary.bootstrap_servers.split(","))) as source:
        settings = {"cleanup.policy": "compact"}
        topics = [
            NewTopic("plan-new", 2, 1, settings),
            NewTopic("plan-grown", 3, 1),
            NewTopic("plan-drifted", 1, 1, {"retention.bytes": "1000"}),
            NewTopic("plan-secret", 1, 1),
        ]
        source.create_topics(topics)
        source.wait_for_topics({topic.name: topic.partitions for topic in topics})
    drifted = NewTopic("planned.plan-drifted", 1, 1, {"retention.bytes": "2000", "flush.ms": "5"})
    target.create_topics([NewTopic("planned.plan-grown", 1, 1), drifted])
    target.wait_for_topics({"planned.plan-grown": 1, drifted.name: 1})
    path = tmp_path_factory.mktemp("plan") / "mm2.properties"
    path.write_text(
        "clusters=planned,b\nplanned->b.enabled=true\ntopics=plan-.*\ntopics.exclude=.*secret\n"
        "heartbeats.replication.enabled=false\nreplication.factor=1\nsync.topic.acls.enabled=true\n"
        f"planned.bootstrap.servers={primary.bootstrap_servers}\n"
        f"b.bootstrap.servers={target.access.bootstrap_servers[0]}\n"
    )
    return path


def test_a_plan_for_machines_tells_everything_and_changes_nothing(
    file: Path, target: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (target.topics(), target.topic_settings(["planned.plan-drifted"]))
    assert run("plan", str(file), "--flow", "planned->b", "-o", "json") == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert flow["name"] == "planned->b"
    assert flow["mirror"] == [
        {"topic": "plan-drifted", "target": "planned.plan-drifted", "partitions": 1},
        {"topic": "plan-grown", "target": "planned.plan-grown", "partitions": 3},
        {"topic": "plan-new", "target": "planned.plan-new", "partitions": 2},
    ]
    created = {topic["topic"]: topic for topic in flow["create"]}
    kinds = "offsets", "ledger", "offset-map", "state", "journal", "declarations"
    assert list(created) == [*(f"mm2-{kind}.planned.internal" for kind in kinds), "planned.plan-new"]
    assert created["planned.plan-new"] == {
        "topic": "planned.plan-new",
        "partitions": 2,
        "replication_factor": 1,
        "settings": {"cleanup.policy": "compact"},
    }
    assert flow["add_partitions"] == [{"topic": "planned.plan-grown", "from": 1, "to": 3}]
    assert {"topic": "plan-secret", "reason": "filter"} in flow["skip"]
    assert flow["alter_settings"] == [
        {
            "topic": "planned.plan-drifted",
            "set": {"retention.bytes": "1000"},
            "reset": ["flush.ms"],
            "unknown_to_target": [],
        }
    ]
    assert flow["settings_not_compared"] == []
    assert (flow["create_acls"], flow["acls_skipped"]) == ([], "planned has no authorizer")
    assert flow["problems"] == []
    assert (target.topics(), target.topic_settings(["planned.plan-drifted"])) == before


def test_a_plan_for_people_is_a_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", str(file)) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "planned->b: 6 partitions of 3 topics" in lines
    assert "create planned.plan-new 2 partitions, replication factor 1, cleanup.policy=compact" in lines
    assert "add partitions planned.plan-grown 1 -> 3" in lines
    assert "set planned.plan-drifted retention.bytes=1000" in lines
    assert "reset planned.plan-drifted flush.ms" in lines
    assert "no ACLs planned has no authorizer" in lines
    assert "mirror plan-new -> planned.plan-new, 2 partitions" in lines
    assert "skip plan-secret filter: topics and topics.exclude leave it out" in lines
    assert "b->planned: heartbeats only" in lines


def test_an_unknown_flow_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", str(file), "--flow", "x->y") == 2
    assert "there is no flow x->y" in capsys.readouterr().err


def test_what_would_happen_to_rights_and_odd_settings_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    reader = Acl("a.orders", "User:u", Operation.Read)
    broad = Acl("ord", "User:v", Operation.Read, Permission.DENY, pattern=Pattern.PREFIXED)
    settings = SettingsDrift(
        {"a.orders": SettingChanges({}, (), ("new.ms",)), "a.same": SettingChanges({})}, {"a.hidden": "lacks a right"}
    )
    topics = TopicPlan("a->b", {}, {}, (), (), (), ())
    result = PlanResult((FlowPlan("a->b", topics, (), settings, AclDrift((reader,), (broad,))),))
    show(result, Format.JSON)
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert flow["create_acls"] == [
        {
            "topic": "a.orders",
            "pattern": "literal",
            "principal": "User:u",
            "host": "*",
            "operation": "Read",
            "permission": "allow",
        }
    ]
    assert [(acl["topic"], acl["pattern"], acl["permission"]) for acl in flow["acls_left_out"]] == [
        ("ord", "prefixed", "deny")
    ]
    assert [(item["topic"], item["unknown_to_target"]) for item in flow["alter_settings"]] == [("a.orders", ["new.ms"])]
    assert flow["settings_not_compared"] == [{"topic": "a.hidden", "reason": "lacks a right"}]
    show(result, Format.TABLE)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[2:] == [
        "cannot set a.orders new.ms: the target does not know it",
        "cannot compare settings a.hidden lacks a right",
        "create ACL a.orders allow User:u Read from host *",
        "leave out ACL ord deny User:v Read from host *, for all topics that begin so; not copied: more than one topic",
    ]
