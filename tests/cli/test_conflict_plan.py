"""`heliograph plan` and `check` of a file that asks for detection of conflicts, on real clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.stage import admin_of, write_settings
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka


def _answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "-o", "json"])
    assert not ended.value.code
    return json.loads(capsys.readouterr().out)


def test_what_is_read_and_created_is_shown_and_nothing_is_touched(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, (one, other), file = fresh_name("orders"), (fresh_name("us"), fresh_name("eu")), tmp_path / "mm2.properties"
    options = {
        "topics": topic, f"{other}.conflicts.topics": topic, "conflicts.output": "{topic}.resolved",
        "sync.topic.acls.enabled": "false",
    }  # fmt: skip
    write_settings(file, {one: primary, other: backup}, [f"{one}->{other}"], options)
    for cluster in (primary, backup):
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic(topic, 2, 1)])
            admin.wait_for_topics({topic: 2})
    (plan,) = _answer(capsys, "plan", str(file))["conflicts"]
    assert plan["name"] == f"conflicts on {other}"
    assert plan["topics"] == [topic]
    created = {item["topic"]: item["partitions"] for item in plan["create"]}
    assert created[f"{topic}.resolved"] == 2
    assert created[f"mm2-conflicts.{other}.internal"] == 1
    flow, detection = _answer(capsys, "check", str(file))["flows"]
    assert flow["name"] == f"{one}->{other}"
    assert detection["name"] == f"conflicts on {other}"
    assert detection["findings"] == []
    with admin_of(backup) as admin:
        assert not created.keys() - {"conflict-resolutions"} & admin.topics().keys()
