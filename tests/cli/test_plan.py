"""`heliograph plan` on real clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic

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
    """One topic to create, one to extend, one to skip."""
    with Admin(Access("planned", primary.bootstrap_servers.split(","))) as source:
        settings = {"cleanup.policy": "compact"}
        topics = [NewTopic("plan-new", 2, 1, settings), NewTopic("plan-grown", 3, 1), NewTopic("plan-secret", 1, 1)]
        source.create_topics(topics)
        source.wait_for_topics({topic.name: topic.partitions for topic in topics})
    target.create_topic(NewTopic("planned.plan-grown", 1, 1))
    target.wait_for_topics({"planned.plan-grown": 1})
    path = tmp_path_factory.mktemp("plan") / "mm2.properties"
    path.write_text(
        "clusters=planned,b\nplanned->b.enabled=true\ntopics=plan-.*\ntopics.exclude=.*secret\n"
        "heartbeats.replication.enabled=false\nreplication.factor=1\n"
        f"planned.bootstrap.servers={primary.bootstrap_servers}\n"
        f"b.bootstrap.servers={target.access.bootstrap_servers[0]}\n"
    )
    return path


def test_a_plan_for_machines_tells_everything_and_changes_nothing(
    file: Path, target: Admin, capsys: pytest.CaptureFixture[str]
) -> None:
    before = target.topics()
    assert run("plan", str(file), "--flow", "planned->b", "-o", "json") == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert flow["name"] == "planned->b"
    assert flow["mirror"] == [
        {"topic": "plan-grown", "target": "planned.plan-grown", "partitions": 3},
        {"topic": "plan-new", "target": "planned.plan-new", "partitions": 2},
    ]
    created = {topic["topic"]: topic for topic in flow["create"]}
    assert list(created) == ["mm2-offsets.planned.internal", "mm2-ledger.planned.internal", "planned.plan-new"]
    assert created["planned.plan-new"] == {
        "topic": "planned.plan-new",
        "partitions": 2,
        "replication_factor": 1,
        "settings": {"cleanup.policy": "compact"},
    }
    assert flow["add_partitions"] == [{"topic": "planned.plan-grown", "from": 1, "to": 3}]
    assert {"topic": "plan-secret", "reason": "filter"} in flow["skip"]
    assert flow["problems"] == []
    assert target.topics() == before


def test_a_plan_for_people_is_a_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", str(file)) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "planned->b: 5 partitions of 2 topics" in lines
    assert "create planned.plan-new 2 partitions, replication factor 1, cleanup.policy=compact" in lines
    assert "add partitions planned.plan-grown 1 -> 3" in lines
    assert "mirror plan-new -> planned.plan-new, 2 partitions" in lines
    assert "skip plan-secret filter: topics and topics.exclude leave it out" in lines
    assert "b->planned: heartbeats only" in lines


def test_an_unknown_flow_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", str(file), "--flow", "x->y") == 2
    assert "there is no flow x->y" in capsys.readouterr().err
