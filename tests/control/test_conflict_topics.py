"""What detection needs on a real cluster is created, and what is there is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.conflict_topics import ConflictTopics
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.stage import admin_of, write_settings
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka


def test_what_is_missing_is_created_and_topics_made_anew_are_noticed(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    topic, one, other = fresh_name("orders"), fresh_name("us"), fresh_name("eu")
    options = {f"{other}.conflicts.topics": topic, "conflicts.output": "{topic}.resolved"}
    write_settings(tmp_path / "mm2.properties", {one: primary, other: backup}, [f"{one}->{other}"], options)
    (config,) = load(tmp_path / "mm2.properties").conflicts
    topics = ConflictTopics(config)
    with admin_of(backup) as admin:
        admin.create_topics([NewTopic(topic, 3, 1)])
        admin.wait_for_topics({topic: 3})
        before = topics.look()
        view, progress = f"{topic}.resolved", f"mm2-conflicts.{other}.internal"
        found = admin.topics([view, progress, "conflict-resolutions"])
        assert {name: info.partitions for name, info in found.items()} == {
            view: 3,
            progress: 1,
            "conflict-resolutions": 1,
        }
        policies = {name: items["cleanup.policy"].value for name, items in admin.topic_settings(list(found)).items()}
        assert policies == {view: "compact", progress: "compact", "conflict-resolutions": "delete"}
        assert before.is_continued_by(topics.look())
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1, 1)])
        admin.wait_for_topics({topic: 1})
        after = topics.look()
        assert not before.is_continued_by(after)
        assert admin.topics([view])[view].partitions == 3
        topics.hang_up()
        assert topics.look() == after
    topics.hang_up()
