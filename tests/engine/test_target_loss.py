"""What the target lost after it was mirrored is told; nothing goes on behind it in silence."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from heliograph.model import Event, EventKind
from tests.engine.ward import GOES_ON, Ward
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka


def delete_target(ward: Ward) -> str:
    """The target topic of the bad partition is deleted; returns its name."""
    topic = ward.pairs[ward.bad].topic
    with closing(KafkaAdminClient(bootstrap_servers=ward.stations.target)) as admin:
        admin.delete_topics([topic])
    with raw.network(ward.stations.target) as (_, network):
        wait_until(lambda: bool(network.look_up([topic])), "the topic to be gone")
    return topic


def create_target_again(ward: Ward) -> None:
    """The target topic of the bad partition is deleted, and created without a record."""
    create_topic(ward.stations.target, delete_target(ward))


def loss(ward: Ward, end: int = 0) -> Event:
    """What is told of a target that ends at an offset, though ten records had been written."""
    reason = (
        f"{ward.pairs[ward.bad]} on the target ends at offset {end}, though it had been written up to offset 9: it was "
        "created anew or cut back, and what was mirrored there is lost"
    )
    return Event(EventKind.TARGET_LOSS, ward.bad, end, 10, reason)


def test_a_target_that_was_created_again_sets_the_partition_aside_and_the_other_flows(ward: Ward) -> None:
    create_target_again(ward)
    ward.feed(ward.bad, range(10, 15))
    ward.feed(ward.well, range(10, 15))
    with ward.lane_walk() as walk:
        walk.until_told(2)
        walk.until_copied({ward.well: 15})
    lost, aside = ward.events()
    assert lost == loss(ward)
    assert (aside.kind, aside.source, aside.from_offset) == (EventKind.SET_ASIDE, ward.bad, 10)
    assert aside.reason == f"{lost.reason}; on.data.loss = continue goes on at offset 10"
    assert ward.copied(ward.bad) == []
    with ward.lane_walk(plan=ward.plan(set_aside={ward.bad: aside.reason})) as walk:
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert len(ward.events()) == 2, "told once"


def test_by_policy_it_goes_on_where_it_was_and_is_told_once(ward: Ward) -> None:
    create_target_again(ward)
    ward.feed(ward.bad, range(10, 15))
    with ward.lane_walk(GOES_ON) as walk:
        walk.until_copied({ward.bad: 15})
    assert ward.events() == [loss(ward)]
    assert ward.copied(ward.bad) == list(range(10, 15))
    ward.feed(ward.bad, range(15, 20))
    with ward.lane_walk(GOES_ON) as walk:
        walk.until_copied({ward.bad: 20})
    assert ward.events() == [loss(ward)]


def test_a_target_that_is_created_again_under_a_running_lane_is_noticed(ward: Ward) -> None:
    with ward.lane_walk() as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        create_target_again(ward)
        raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(1, 10))])
        walk.until_told(2)
    assert [event.kind for event in ward.events()] == [EventKind.TARGET_LOSS, EventKind.SET_ASIDE]
    assert ward.copied(ward.bad) == []


def test_a_target_topic_that_is_gone_holds_up_no_other(ward: Ward) -> None:
    topic = delete_target(ward)
    ward.feed(ward.bad, range(10, 15))
    ward.feed(ward.well, range(10, 15))
    with ward.lane_walk() as walk:
        walk.until_copied({ward.well: 15})
        [aside] = walk.until_told(1)
    reason = f"the topic {topic} is gone on the target; it goes on when the topic is there again"
    assert aside == Event(EventKind.SET_ASIDE, ward.bad, 10, -1, reason)


def test_a_target_topic_that_goes_under_a_running_lane_holds_up_no_other(ward: Ward) -> None:
    with ward.lane_walk() as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        delete_target(ward)
        ward.feed(ward.bad, range(10, 15))
        ward.feed(ward.well, range(15, 20))
        [aside] = walk.until_told(1)
        walk.until_copied({ward.well: 20})
    assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
