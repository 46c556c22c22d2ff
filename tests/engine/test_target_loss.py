"""What the target lost after it was mirrored is told; nothing goes on behind it in silence."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from heliograph.model import Event, EventKind, Position
from tests.engine.lane_bench import QUICK
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


def loss(ward: Ward) -> Event:
    """What is told of a target that was created again after ten records had been written."""
    reason = (
        f"{ward.pairs[ward.bad]} on the target is not the topic that had been written to up to offset 9: that was "
        "deleted and created again, or has another name, and what was mirrored to it is not there"
    )
    return Event(EventKind.TARGET_LOSS, ward.bad, 0, 10, reason)


def loss_without_id(ward: Ward) -> Event:
    """What is told of it where nothing tells which topic had been written to."""
    reason = (
        f"{ward.pairs[ward.bad]} on the target ends at offset 0, though it had been written up to offset 9: it was "
        "created anew or cut back, and what was mirrored there is lost"
    )
    return Event(EventKind.TARGET_LOSS, ward.bad, 0, 10, reason)


def forget_which_topic(ward: Ward) -> None:
    """Leave a position as earlier versions wrote it; and as a target that lost the end of its log leaves it."""
    ward.place(Position(9, 9, str(ward.topic_id())))


def fill_target(ward: Ward, numbers: range) -> None:
    """Somebody else appends records with these numbers to the target of the bad partition."""
    raw.append(ward.stations.target, ward.pairs[ward.bad], [raw.batch_of(numbered(len(numbers), numbers.start))])


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


@pytest.mark.parametrize("has_id", [True, False], ids=["by-id", "by-offset"])
@pytest.mark.parametrize("count", [1, 20], ids=["not-as-far", "beyond-the-position"])
def test_a_target_that_is_created_again_under_a_running_lane_is_noticed(ward: Ward, count: int, has_id: bool) -> None:
    """However far the lane has written there before it notices: what it aborts then stays in the log."""
    if not has_id:
        forget_which_topic(ward)
    with ward.lane_walk() as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        create_target_again(ward)
        ward.feed(ward.bad, range(10, 10 + count))
        walk.until_told(2)
    lost, aside = ward.events()
    assert lost == (loss(ward) if has_id else loss_without_id(ward))
    assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
    assert ward.copied(ward.bad) == []
    with ward.lane_walk(plan=ward.plan(set_aside={ward.bad: aside.reason})) as walk:
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert ward.copied(ward.bad) == []
    assert len(ward.events()) == 2, "told once"


@pytest.mark.parametrize("has_id", [True, False], ids=["by-id", "by-offset"])
def test_by_policy_a_running_lane_goes_on_and_tells_it_once(ward: Ward, has_id: bool) -> None:
    if not has_id:
        forget_which_topic(ward)
    with ward.lane_walk(GOES_ON) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        create_target_again(ward)
        ward.feed(ward.bad, range(10, 30))
        walk.until_copied({ward.bad: 30})
        ward.feed(ward.bad, range(30, 35))
        walk.until_copied({ward.bad: 35})
    assert ward.events() == [loss(ward) if has_id else loss_without_id(ward)]
    assert ward.copied(ward.bad) == list(range(10, 35))


@pytest.mark.parametrize("goes_on", [False, True], ids=["stop", "continue"])
def test_a_target_that_was_created_again_and_filled_by_somebody_else_is_noticed(ward: Ward, goes_on: bool) -> None:
    create_target_again(ward)
    fill_target(ward, range(100, 120))
    ward.feed(ward.bad, range(10, 15))
    with ward.lane_walk(GOES_ON if goes_on else QUICK) as walk:
        walk.until_told(1 if goes_on else 2)
        if goes_on:
            walk.until_copied({ward.bad: 15})
    assert ward.events()[0] == loss(ward)
    assert ward.copied(ward.bad) == [*range(100, 120), *(range(10, 15) if goes_on else ())]


def test_what_was_noticed_once_is_not_hidden_by_what_others_write_later(ward: Ward) -> None:
    forget_which_topic(ward)
    create_target_again(ward)
    ward.feed(ward.bad, range(10, 15))
    with ward.lane_walk() as walk:
        _, aside = walk.until_told(2)
    fill_target(ward, range(100, 120))
    with ward.lane_walk(plan=ward.plan(set_aside={ward.bad: aside.reason})) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    assert (len(ward.events()), ward.copied(ward.bad)) == (2, list(range(100, 120)))
    with ward.lane_walk(GOES_ON) as walk:
        walk.until_copied({ward.bad: 15})
        ward.feed(ward.bad, range(15, 20))
        walk.until_copied({ward.bad: 20})
    assert ward.copied(ward.bad) == [*range(100, 120), *range(10, 20)]
    with ward.lane_walk() as walk:
        ward.feed(ward.bad, range(20, 25))
        walk.until_copied({ward.bad: 25})
    assert [event.kind for event in ward.events()] == [
        EventKind.TARGET_LOSS, EventKind.SET_ASIDE, EventKind.TARGET_LOSS,
    ]  # fmt: skip


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
