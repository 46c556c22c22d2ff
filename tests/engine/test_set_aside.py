"""A partition that cannot go on is set aside with its reason, at the right place, and the others flow."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from crc32c import crc32c

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine import lane as lane_module
from heliograph.engine.lane_session import LaneSession
from heliograph.kafka import batches
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.producing import Batch
from heliograph.kafka.records import Record, decode
from heliograph.model import Assignment, Event, EventKind, LanePlan, Position, TopicPartition
from tests.engine.lane_bench import MakeMirror
from tests.engine.ward import Ward
from tests.waiting import wait_until
from tests.zoo import handmade, raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

start = LaneSession.start
LIMIT = 2_000
LARGE = 5_000
HOUR_MS = 3_600_000


def mirror_to(ward: Ward, settings: dict[str, str]) -> TopicPartition:
    """Give the bad partition a target with these settings; its partition 1 is there to try things out."""
    target = TopicPartition(create_topic(ward.stations.target, fresh_name("strict"), 2, settings), 0)
    ward.pairs[ward.bad] = target
    ward.place(Position(9, topic_id=str(ward.topic_id())))  # of which nothing was written to this target
    return target


def plan_with_limit(ward: Ward, limit: int, set_aside: str | None = None) -> LanePlan:
    """A plan that takes the targets to allow batches of this size."""
    plan = ward.plan(assignments=[Assignment(source, target, limit) for source, target in ward.pairs.items()])
    return plan if set_aside is None else replace(plan, set_aside={ward.bad: set_aside})


def one_large(first: int, count: int, large: int) -> list[Record]:
    """Numbered records, of which one is larger than the limit."""
    return [
        *numbered(large - first, first),
        *numbered(1, large, LARGE),
        *numbered(first + count - large - 1, large + 1),
    ]


def expect_set_aside(ward: Ward, plan: LanePlan | None = None) -> Event:
    """Run a lane until the bad partition is set aside, see the other one flow, and find the same in the ledger."""
    with ward.lane_walk(plan=plan) as walk:
        [aside] = walk.until_told(1)
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    assert ward.events() == [aside]
    assert (aside.kind, aside.source, aside.to_offset) == (EventKind.SET_ASIDE, ward.bad, -1)
    assert ward.copied(ward.well) == list(range(15))
    return aside


# -- too large ---------------------------------------------------------------------------------------------------------


def raise_limit(ward: Ward, target: TopicPartition) -> None:
    """Let the target take large batches, and wait until it does."""
    with closing(Admin(Access("backup", ward.stations.target.split(",")))) as admin:
        admin.alter_topic_settings({target.topic: {"max.message.bytes": str(2 * LARGE)}})
    piece = Batch(target.topic, 1, raw.batch_of(numbered(1, size=LARGE)))
    with raw.network(ward.stations.target, target.topic) as (loop, network):
        wait_until(lambda: raw.send(loop, network, [piece])[0].error_code == 0, "the new limit")


@pytest.mark.parametrize("large", [10, 12, 14], ids=["first", "middle", "last"])
def test_a_record_too_large_for_the_target_stops_its_partition_right_before_it(ward: Ward, large: int) -> None:
    target = mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(one_large(10, 5, large))])
    aside = expect_set_aside(ward, plan_with_limit(ward, LIMIT))
    assert aside.from_offset == large
    assert f"the record at offset {large} makes a batch of " in aside.reason
    assert f"the target takes {LIMIT}; raise max.message.bytes of {target.topic}" in aside.reason
    assert ward.copied(ward.bad) == list(range(10, large))
    assert ward.positions()[ward.bad].offset == large - 1


def test_the_size_that_is_told_is_the_limit_that_would_do(ward: Ward) -> None:
    mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(1, 10, LARGE))])
    aside = expect_set_aside(ward, plan_with_limit(ward, LIMIT))
    size = int(aside.reason.partition("a batch of ")[2].partition(" bytes")[0])
    with ward.lane_walk(plan=plan_with_limit(ward, size - 1, aside.reason)) as walk:
        [again] = walk.until_told(1)
    assert f"a batch of {size} bytes" in again.reason


def test_a_partition_goes_on_when_the_limit_was_raised_and_says_so(ward: Ward) -> None:
    target = mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(one_large(10, 5, 12))])
    aside = expect_set_aside(ward, plan_with_limit(ward, LIMIT))
    raise_limit(ward, target)
    with ward.lane_walk(plan=plan_with_limit(ward, 2 * LARGE, aside.reason)) as walk:
        walk.until_copied({ward.bad: 15})
    assert ward.events() == [aside, Event(EventKind.RESUMED, ward.bad, 12, -1, "goes on")]
    assert ward.copied(ward.bad) == list(range(10, 15))


def test_a_record_that_the_target_refuses_as_too_large_is_named(ward: Ward) -> None:
    target = mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    large = raw.batch_of(numbered(1, 12, LARGE))
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(2, 10)), large])
    aside = expect_set_aside(ward)
    assert aside.from_offset == 10
    assert aside.reason == (
        f"the target refuses it: MESSAGE_SIZE_TOO_LARGE; it has offsets 12 to 12 of the source in {len(large)} bytes"
    )
    assert ward.positions()[ward.bad].offset == 9
    raise_limit(ward, target)
    with ward.lane_walk(plan=ward.plan(set_aside={ward.bad: aside.reason})) as walk:
        walk.until_copied({ward.bad: 13})
    assert ward.events() == [aside, Event(EventKind.RESUMED, ward.bad, 10, -1, "goes on")]
    assert ward.copied(ward.bad) == [10, 11, 12]


# -- tried again -------------------------------------------------------------------------------------------------------


def test_a_lane_tries_by_itself_what_it_has_set_aside(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_FIRST_REST", 1.0)
    target = mirror_to(ward, {"max.message.bytes": str(LIMIT)})
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(1, 10, LARGE))])
    with ward.lane_walk() as walk:
        [aside] = walk.until_told(1)
        raise_limit(ward, target)
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.bad: 11, ward.well: 15})
    assert ward.events() == [aside, Event(EventKind.RESUMED, ward.bad, 10, -1, "goes on")]
    assert (ward.copied(ward.bad), ward.copied(ward.well)) == ([10], list(range(15)))


def test_partitions_that_one_answer_refuses_are_set_aside_together(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[LaneSession] = []
    monkeypatch.setattr(LaneSession, "start", lambda session: begun.append(session) or start(session))
    mirror = make_mirror(6)
    strict = create_topic(mirror.stations.target, fresh_name("strict"), 6, {"max.message.bytes": str(LIMIT)})
    mirror.pairs = {source: TopicPartition(strict, source.partition) for source in mirror.pairs}
    for number in range(1, 6):
        mirror.write([numbered(1, number, LARGE)], number)
    told: dict[TopicPartition, str] = {}
    with closing(mirror.lane(lambda: len(told) >= 5)) as lane:
        for entry in lane:
            told |= {event.source: event.reason for event in entry.events}
    assert len(told) == 5
    assert all("MESSAGE_SIZE_TOO_LARGE; it has offsets 0 to 0 of the source" in reason for reason in told.values())
    assert len(begun) == 2


# -- times -------------------------------------------------------------------------------------------------------------


def test_a_time_that_the_target_refuses_stops_its_partition(ward: Ward) -> None:
    mirror_to(ward, {"message.timestamp.after.max.ms": str(HOUR_MS)})
    later = int(time.time() * 1000) + 2 * HOUR_MS
    raw.append(ward.stations.source, ward.bad, [raw.batch_of([Record(0, later, b"key", b"from the future")])])
    aside = expect_set_aside(ward)
    assert aside.from_offset == 10
    assert aside.reason.startswith("the target refuses it: INVALID_TIMESTAMP")
    assert "it has offsets 10 to 10 of the source" in aside.reason
    assert ward.copied(ward.bad) == []


# -- damage ------------------------------------------------------------------------------------------------------------


def damage(log: Path, inside: bytes) -> None:
    """Change one byte of a log file, in a record with this value."""
    place = log.read_bytes().index(inside)
    with open(log, "r+b") as file:
        file.seek(place)
        file.write(b"V")


def test_a_damaged_batch_stops_its_partition_right_before_it(ward: Ward, primary: EmbeddedCluster) -> None:
    for first in (10, 15, 20):
        ward.feed(ward.bad, range(first, first + 5))
    folder = primary.brokers[0].spec.folder / "data" / str(ward.bad)
    damage(folder / "00000000000000000000.log", inside=b"value-17")
    aside = expect_set_aside(ward)
    assert aside.from_offset == 15
    assert aside.reason == "the batch at offset 15 fails its checksum on the source"
    assert ward.copied(ward.bad) == list(range(15))
    assert ward.positions()[ward.bad].offset == 14


def feign_compression(log: Path, base_offset: int) -> None:
    """Let a batch say that it is compressed with gzip, though it is not, under a checksum that is right."""
    content = bytearray(log.read_bytes())
    for _, batch in batches.split(memoryview(content)):
        if batches.read_header(batch).base_offset == base_offset:
            batch[22] |= 1
            batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    with open(log, "r+b") as file:
        file.write(content)


def test_a_batch_that_nobody_can_unpack_stops_its_partition_and_is_named(ward: Ward, primary: EmbeddedCluster) -> None:
    for first in (10, 15, 20):
        ward.feed(ward.bad, range(first, first + 5))
    folder = primary.brokers[0].spec.folder / "data" / str(ward.bad)
    feign_compression(folder / "00000000000000000000.log", base_offset=15)
    aside = expect_set_aside(ward)
    assert aside.reason.startswith("the target refuses it: ")
    assert "it has offsets 15 to 19 of the source" in aside.reason
    copied = ward.copied(ward.bad)
    assert copied in (list(range(10)), list(range(15)))
    assert ward.positions()[ward.bad].offset == len(copied) - 1


# -- oddities that are none --------------------------------------------------------------------------------------------


def test_names_of_headers_that_are_no_utf8_arrive_as_they_are(ward: Ward) -> None:
    raw.append(ward.stations.source, ward.bad, [handmade.foreign_header(0, 2), handmade.foreign_header(0, 3)])
    with ward.lane_walk() as walk:
        walk.until_copied({ward.bad: 15})
    found = raw.fetch_batches(ward.stations.target, ward.pairs[ward.bad])
    pieces = [memoryview(data) for header, data in found if not header.is_control]
    names = [record.headers[0][0] for piece in pieces for record in decode(2, piece)]
    assert [name.encode("utf-8", "surrogateescape") for name in names[-5:]] == [handmade.FOREIGN_NAME] * 5
    assert ward.events() == []
