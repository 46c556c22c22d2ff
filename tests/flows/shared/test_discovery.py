"""Topics and partitions that appear while the mirror runs, with both directions enabled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic, SettingSource, Status
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.stage import PATIENCE_SECONDS, admin_of, await_growth, copies, expect_equal
from tests.flows.shared.conftest import SharedMirror
from tests.waiting import wait_until
from tests.zoo import raw

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@dataclass(frozen=True)
class _Scene:
    riga: EmbeddedCluster
    bern: EmbeddedCluster
    log: Path


@pytest.fixture(scope="module")
def scene(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], shared_mirror: SharedMirror) -> _Scene:
    """The mirror is at work before any topic of these tests exists, but for the first in each direction."""
    return _Scene(*cluster_pair, shared_mirror.log)


def test_a_new_topic_is_mirrored_from_its_first_record_with_its_settings(scene: _Scene) -> None:
    _create(scene.riga, NewTopic("find-new", 3, 1, {"retention.ms": "7200000", "max.message.bytes": "2000000"}))

    with Load(scene.riga.bootstrap_servers, "find-new", 3, per_second=200) as load:
        _await_partitions(scene.bern, "riga.find-new", 3)
        await_growth(scene.bern, "riga.find-new")

    expect_equal(scene.riga, scene.bern, copies("find-new", "riga.find-new", 3), load.acknowledged, scene.log)
    chosen = _chosen_settings(scene.bern, "riga.find-new")
    assert {name: chosen.get(name) for name in ("retention.ms", "max.message.bytes")} == {
        "retention.ms": "7200000",
        "max.message.bytes": "2000000",
    }


def test_new_partitions_of_a_known_topic_are_mirrored_from_their_first_record(scene: _Scene) -> None:
    _create(scene.riga, NewTopic("find-grow", 1, 1))
    with Load(scene.riga.bootstrap_servers, "find-grow", 1, per_second=200) as before:
        await_growth(scene.bern, "riga.find-grow")

    with admin_of(scene.riga) as admin:
        assert admin.add_partitions({"find-grow": 4})["find-grow"].status is Status.DONE
        admin.wait_for_topics({"find-grow": 4})
    with Load(scene.riga.bootstrap_servers, "find-grow", 4, per_second=220) as after:
        _await_partitions(scene.bern, "riga.find-grow", 4)
        await_growth(scene.bern, "riga.find-grow")

    written = before.acknowledged + after.acknowledged
    expect_equal(scene.riga, scene.bern, copies("find-grow", "riga.find-grow", 4), written, scene.log)
    with admin_of(scene.riga) as admin:
        ends = admin.end_offsets([TopicPartition("find-grow", number) for number in range(4)])
    assert all(end > 0 for end in ends.values())


def test_only_chosen_topics_appear_and_copies_are_not_copied_back(scene: _Scene) -> None:
    unwanted = ["find-my-secret", "find-book.internal", "find-book.replica", "other-topic"]
    _create(scene.riga, *(NewTopic(name, 1, 1) for name in unwanted))
    _create(scene.riga, NewTopic("find-marker", 1, 1))
    _await_partitions(scene.bern, "riga.find-marker", 1)
    _create(scene.bern, NewTopic("find-answer", 1, 1))
    _await_partitions(scene.riga, "bern.find-answer", 1)  # the way back has seen the copy of the marker too

    assert not {f"riga.{name}" for name in unwanted} & _topics(scene.bern)
    copies = {name for name in _topics(scene.riga) if name.startswith(("bern.", "riga."))}
    chosen = {name for name in copies if not name.endswith(".internal")}  # checkpoints are no copy
    assert chosen == {"bern.find-first", "bern.find-answer"}
    grown = ("riga.riga.", "riga.bern.", "bern.riga.", "bern.bern.", "riga.mm2-", "bern.mm2-", "riga.__", "bern.__")
    assert not {name for name in _topics(scene.bern) | _topics(scene.riga) if name.startswith(grown)}


def test_a_partition_set_aside_for_its_size_goes_on_when_the_target_takes_more(scene: _Scene) -> None:
    _create(scene.bern, NewTopic("riga.find-large", 1, 1, {"max.message.bytes": "10000"}))
    _create(scene.riga, NewTopic("find-large", 1, 1))
    values = [b"small", b"x" * 50_000, b"after"]
    where = TopicPartition("find-large", 0)
    raw.append(scene.riga.bootstrap_servers, where, [raw.batch_of([Record(0, 1, b"k", value)]) for value in values])
    wait_until(
        lambda: "raise max.message.bytes of riga.find-large" in scene.log.read_text(),
        "the reason",
        PATIENCE_SECONDS,
        0.2,
    )

    with admin_of(scene.bern) as admin:
        admin.alter_topic_settings({"riga.find-large": {"max.message.bytes": "100000"}})
    expect_equal(scene.riga, scene.bern, copies("find-large", "riga.find-large", 1), len(values), scene.log)


def _create(cluster: EmbeddedCluster, *topics: NewTopic) -> None:
    with admin_of(cluster) as admin:
        outcomes = admin.create_topics(topics)
        assert {outcome.status for outcome in outcomes.values()} == {Status.DONE}
        admin.wait_for_topics({topic.name: topic.partitions for topic in topics})


def _topics(cluster: EmbeddedCluster) -> set[str]:
    with admin_of(cluster) as admin:
        return set(admin.topics())


def _await_partitions(cluster: EmbeddedCluster, topic: str, count: int) -> None:
    def are_there() -> bool:
        with admin_of(cluster) as admin:
            found = admin.topics().get(topic)
        return found is not None and found.partitions == count

    wait_until(are_there, f"{count} partitions of {topic}", PATIENCE_SECONDS, 0.2)


def _chosen_settings(cluster: EmbeddedCluster, topic: str) -> dict[str, str | None]:
    with admin_of(cluster) as admin:
        settings = admin.topic_settings([topic])[topic]
    return {name: item.value for name, item in settings.items() if item.source is SettingSource.TOPIC}
