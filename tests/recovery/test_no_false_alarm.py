"""What differs between the logs of two clusters, and is no difference: real brokers, and mostly real lanes."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import kafka
import pytest
from kafka import KafkaAdminClient

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.records import Record
from heliograph.model import Event, EventKind, Position, Run, TopicPartition
from heliograph.recovery.verification.plan import Scope, plan_verification
from heliograph.recovery.verification.verification import Verification, verify_slices
from tests.recovery.handmade_mirror import TIME, HandmadeMirror, in_batches, some_records
from tests.sync.moving import Moving, make_moving, produce
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.compacted import hurried_cleaner
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_transactions

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]
Maker = Callable[..., tuple[Moving, TopicPartition]]
IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
COMPACTED = {
    "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}  # fmt: skip


@pytest.fixture
def make(cluster_pair: Pair, tmp_path: Path) -> Maker:
    """Makes a flow of one topic; settings are those of the topic on the source and, if given, on the target."""

    def make(
        settings: dict[str, str] | None = None, remote: dict[str, str] | None = None, more: str = "", both: bool = False
    ) -> tuple[Moving, TopicPartition]:
        topic = fresh_name("same")
        moving = make_moving(tmp_path, cluster_pair, topic, more, both)
        create_topic(moving.source, topic, settings=settings)
        if remote is not None:
            name = moving.flow.replication_policy.format_remote_topic(moving.name, topic)
            create_topic(moving.target, name, settings=remote)
        return moving, TopicPartition(topic, 0)

    return make


def verified(moving: Moving, scope: Scope | None = None) -> Verification:
    result = verify_slices(plan_verification(moving.flow, scope))
    assert [str(found) for found in result.differences] == []
    return result


def delete_records(bootstrap_servers: str, where: TopicPartition, before: int) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.delete_records({kafka.TopicPartition(*where): before})


@pytest.mark.parametrize("deep", [False, True])
def test_aborted_transactions_and_markers_do_not_count(make: Maker, deep: bool) -> None:
    moving, where = make()
    committed = write_transactions(moving.source, where)
    moving.mirror()
    result = verified(moving, Scope(opens_all=deep))
    assert (result.records, result.left_out) == (committed, [])


def test_small_batches_that_were_joined_are_compared_record_by_record(make: Maker) -> None:
    moving, where = make()
    raw.append(moving.source, where, in_batches(some_records(60), 1))
    moving.mirror()
    result = verified(moving)
    assert (result.records, result.partitions[0].opened) == (60, 60)


def test_another_codec_is_no_difference(make: Maker, cluster_pair: Pair, tmp_path: Path) -> None:
    topic = fresh_name("codec")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    mirror.write(in_batches(some_records(60), 7, compression=1), in_batches(some_records(60), 9, compression=4))
    mirror.enter([Run(0, 0, 60)])
    assert verified(mirror.moving).records == 60


def test_times_that_the_source_set_are_the_records_times_on_the_target(make: Maker) -> None:
    moving, where = make({"message.timestamp.type": "LogAppendTime"}, {})
    raw.append(moving.source, where, in_batches(some_records(30), 10))
    moving.mirror()
    result = verified(moving)
    assert (result.records, result.left_out) == (30, [])


@pytest.mark.parametrize("at_the_source", [False, True])
def test_times_that_the_target_sets_are_not_compared_and_that_is_said(make: Maker, at_the_source: bool) -> None:
    by_broker = {"message.timestamp.type": "LogAppendTime"}
    moving, where = make(by_broker if at_the_source else None, by_broker)
    raw.append(moving.source, where, in_batches(some_records(30), 10))
    moving.mirror()
    result = verified(moving)
    assert result.records == 30
    assert [note.partition(": ")[2] for note in result.left_out] == [
        "the times of 30 records: the target's brokers set their own (LogAppendTime)"
    ]


def test_the_same_names_both_ways_compare_what_went_each_way(make: Maker) -> None:
    moving, where = make(more=IDENTITY, both=True)
    for _ in range(2):
        produce(moving.source, where, range(10))
        moving.mirror()
        produce(moving.target, where, range(100, 107))
        moving.mirror(moving.opposite)
    assert verified(moving).records == 20
    back = verify_slices(plan_verification(moving.opposite))
    assert (back.is_equal, back.records) == (True, 14)


def test_what_is_not_mirrored_yet_is_counted(make: Maker) -> None:
    moving, where = make()
    produce(moving.source, where, range(10))
    moving.mirror()
    produce(moving.source, where, range(5))
    result = verified(moving)
    assert (result.records, result.waiting) == (10, 5)


@pytest.mark.parametrize(("here", "there", "left"), [(13, 0, 17), (0, 24, 8), (13, 24, 8), (30, 0, 0)])
def test_what_retention_removed_on_either_side_is_left_out(make: Maker, here: int, there: int, left: int) -> None:
    moving, where = make()
    for first in (0, 10, 20):
        raw.append(moving.source, where, in_batches(some_records(10, first=first), 10))
        moving.mirror()
    home = TopicPartition(f"{moving.name}.{where.topic}", 0)
    if here:
        delete_records(moving.source, where, here)
    if there:
        delete_records(moving.target, home, there)  # of 30 records, and a marker behind each 10
    result = verified(moving)
    assert result.records == left
    assert any("no longer has" in note for note in result.left_out)


def test_what_is_removed_while_it_is_compared_is_left_out(make: Maker) -> None:
    moving, where = make()
    produce(moving.source, where, range(30))
    moving.mirror()
    plan = plan_verification(moving.flow)
    delete_records(moving.source, where, 13)
    result = verify_slices(plan)
    assert (result.is_equal, result.records) == (True, 0)
    assert "removed meanwhile" in result.left_out[0]


def test_a_topic_created_anew_that_the_mirror_has_not_seen_yet(make: Maker) -> None:
    moving, where = make()
    produce(moving.source, where, range(10))
    moving.mirror()
    with closing(KafkaAdminClient(bootstrap_servers=moving.source)) as client:
        client.delete_topics([where.topic])
    with Admin(Access("a", [moving.source])) as admin:
        wait_until(lambda: not admin.topics([where.topic]), "the topic to be gone")
    create_topic(moving.source, where.topic)
    produce(moving.source, where, range(50, 54))
    result = verified(moving)
    assert (result.records, result.waiting) == (0, 4)
    assert "earlier topic of that name" in result.left_out[0]


def test_a_topic_created_anew_and_a_mirror_that_went_on(make: Maker, cluster_pair: Pair, tmp_path: Path) -> None:
    topic = fresh_name("anew")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    old, new = some_records(10), some_records(4, first=50)
    mirror.write(in_batches(new, 4), in_batches(old + new, 7))
    mirror.enter([Run(0, 0, 10)])
    mirror.enter([Run(0, 10, 4)], [Event(EventKind.RECREATED, mirror.source, 10, -1, "created again")])
    result = verified(mirror.moving)
    assert result.records == 4
    assert "what was mirrored from an earlier topic of that name" in result.left_out[0]


def test_a_source_that_was_cut_back(make: Maker, cluster_pair: Pair, tmp_path: Path) -> None:
    topic = fresh_name("cut")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    old, new = some_records(10), some_records(5, first=50)
    mirror.write(in_batches(old[:6] + new, 11), in_batches(old, 10) + in_batches(new, 5))
    mirror.enter([Run(0, 0, 10)])
    mirror.enter([Run(6, 10, 5)], [Event(EventKind.TRUNCATION, mirror.source, 6, 10, "cut back")])
    result = verified(mirror.moving)
    assert result.records == 11
    assert "before the source lost them" in result.left_out[0]


def test_what_mirrormaker_2_has_copied_before_is_left_out(make: Maker, cluster_pair: Pair, tmp_path: Path) -> None:
    topic = fresh_name("before")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    records = some_records(20)
    mirror.write(in_batches(records, 10), in_batches(records[:3] + records, 10))
    mirror.stand_at(Position(9))
    assert verified(mirror.moving).left_out == [
        f"{topic}-0: offsets 0 to 9: it is not written down where they were mirrored to"
    ]
    mirror.enter([Run(10, 13, 10)])
    result = verified(mirror.moving)
    assert result.records == 10
    assert "10 offsets before 10" in result.left_out[0]


def test_a_start_by_time_and_by_offset(make: Maker) -> None:
    moving, where = make()
    raw.append(moving.source, where, in_batches(some_records(30), 10))
    moving.mirror()
    assert verified(moving, Scope(since_ms=TIME + 20)).records == 10
    assert verified(moving, Scope(since_ms=TIME + 1000)).records == 0
    assert verified(moving, Scope(from_offsets={where: 13})).records == 17
    assert verified(moving, Scope(topics="other.*")).partitions == []


@pytest.mark.parametrize("compacts", ["source", "target"])
def test_compaction_on_one_side_only(make: Maker, compacts: str) -> None:
    moving, where = make(COMPACTED if compacts == "source" else {}, COMPACTED if compacts == "target" else {})
    now = int(time.time() * 1000)
    for size in (12, 10):
        items = [Record(0, now + n, b"k%d" % (n % 5), b"%d/%d" % (size, n)) for n in range(size)]
        gone = Record(0, now, b"gone", None if size == 10 else b"value")
        raw.append(moving.source, where, in_batches([*items, gone], 4))
    moving.mirror()
    result = verified(moving)
    assert result.partitions[0].by_key
    cluster = moving.source if compacts == "source" else moving.target
    compacted = where if compacts == "source" else TopicPartition(f"{moving.name}.{where.topic}", 0)

    def is_compacted() -> bool:
        raw.append(cluster, compacted, [raw.batch_of([Record(0, int(time.time() * 1000), b"roll", b"")])])
        found = raw.fetch_batches(cluster, compacted)
        return sum(header.record_count for header, _ in found[:6]) < 12

    with hurried_cleaner(cluster):
        wait_until(is_compacted, "the cleaner", interval=0.15)
    assert verified(moving).partitions[0].by_key
