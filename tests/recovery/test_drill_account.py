"""The account of a drill, with evidence made by hand: ten records, one group, and one thing wrong at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.model import TopicPartition
from heliograph.recovery.drill.account import Account, Evidence, draw_up
from heliograph.recovery.drill.content import Content, Found
from heliograph.recovery.drill.groups import CanaryGroup
from heliograph.recovery.drill.load import Acked

_HERE = TopicPartition("orders", 0)
_COPY = TopicPartition("a.orders", 0)
_BACK = TopicPartition("b.orders", 0)
_LOST_AT = 100_000


def _row(
    source: TopicPartition, target: TopicPartition, offset: int, exact: bool = True, waiting: int = 0
) -> dict[str, object]:
    return {
        "group": "g", "source_topic": source.topic, "partition": 0, "source_offset": offset,
        "target_topic": target.topic, "target_offset": 0, "exact": exact, "waiting": waiting,
    }  # fmt: skip


def _content(**logs: list[tuple[int, int]]) -> Content:
    names = {"here": _HERE, "copy": _COPY, "there": _HERE, "back": _BACK}
    return Content({names[name]: [Found(*item) for item in items] for name, items in logs.items()})


def _sound() -> Evidence:
    """Ten records on the source, eight of them mirrored to 100 and on; the group had read four, three were seen.

    During the outage it read two of the target's three new records, and all that was mirrored.
    """
    mirrored = [(100 + number, number) for number in range(8)]
    new = [(number - 10, number) for number in range(10, 13)]
    return Evidence(
        acked={number: Acked(_HERE, number, _LOST_AT - 1000 + number * 100) for number in range(10)},
        acked_meanwhile=frozenset({10, 11, 12}),
        lost_at_ms=_LOST_AT,
        groups=[CanaryGroup("g", 1.0, {_HERE: 4})],
        copies={"orders": "a.orders"},
        mirrored=_content(copy=mirrored),
        on_target=_content(copy=mirrored, there=new),
        on_source=_content(here=[(number, number) for number in range(10)], back=new),
        tail=[8, 9],
        set_on_target={"g": {_COPY: 103}},
        left_target_at={"g": {_COPY: 108, _HERE: 2}},
        set_on_source={"g": {_HERE: 8, _BACK: 2}},
        failover_rows=[_row(_HERE, _COPY, 3)],
        failback_rows=[_row(_COPY, _HERE, 108), _row(_HERE, _BACK, 2)],
    )


def _account(**changes: object) -> Account:
    return draw_up(replace(_sound(), **changes))  # type: ignore[arg-type]


def test_a_sound_drill_has_figures_and_no_faults() -> None:
    account = _account()
    assert account.faults == []
    assert (account.acked, account.mirrored, account.lost, account.in_tail) == (10, 8, 2, 2)
    assert account.rpo_seconds == pytest.approx(0.2)  # the older of both was acknowledged so long before the loss
    (group,) = account.groups
    assert group.waiting_at_loss == 6
    assert (group.failover.skipped, group.failover.again, group.failover.told) == (0, 1, 1)
    assert (group.failback.skipped, group.failback.again) == (0, 0)


def test_without_a_loss_the_rpo_is_nothing() -> None:
    everything = _content(copy=[(100 + number, number) for number in range(10)])
    account = _account(mirrored=everything, tail=[])
    assert (account.lost, account.rpo_seconds) == (0, 0.0)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"tail": [8]}, "acknowledged, but neither mirrored nor in the saved tail: 1 record, such as 9"),
        ({"tail": [7, 8, 9]}, "in the saved tail although mirrored: 1 record, such as 7"),
        ({"tail": [8, 9, 9]}, "in the saved tail more than once: 1 record, such as 9"),
        (
            {"acked_meanwhile": frozenset({13})},
            "acknowledged by the target during the outage, but not on the source afterwards: 1 record",
        ),
        ({"set_on_target": {"g": {_COPY: 105}}}, "g skipped 1 record at the failover"),
        ({"set_on_target": {"g": {_COPY: 102}}}, "g read 1 record more again after the failover than its report said"),
        ({"set_on_target": {}}, "g read 3 records more again after the failover than its report said"),
        ({"set_on_source": {"g": {_HERE: 9, _BACK: 2}}}, "g skipped 1 record at the failback"),
        ({"set_on_source": {"g": {_HERE: 8, _BACK: 3}}}, "g skipped 1 record at the failback"),
        ({"set_on_target": {"g": {_COPY: 104}}}, "g was said to be exact after the failover, and is 1 record off"),
        (
            {"set_on_source": {"g": {_HERE: 7, _BACK: 2}}},
            "g read 1 record more again after the failback than its report said",
        ),
    ],
)
def test_each_fault_is_found(change: dict[str, object], fault: str) -> None:
    faults = _account(**change).faults
    assert any(item.startswith(fault) for item in faults), faults


def test_records_that_are_mirrored_twice_are_found() -> None:
    twice = _content(copy=[*((100 + number, number) for number in range(8)), (108, 7)])
    assert "mirrored more than once: 1 record, such as 7" in _account(mirrored=twice).faults


def test_a_place_that_is_not_exact_may_repeat_what_was_said() -> None:
    told = [_row(_HERE, _COPY, 3, exact=False, waiting=8)]
    assert _account(failover_rows=told, set_on_target={"g": {_COPY: 100}}).faults == []


def test_what_is_skipped_in_one_partition_is_not_made_up_for_by_another() -> None:
    """A group that reads something again elsewhere has still skipped."""
    account = _account(set_on_source={"g": {_HERE: 9, _BACK: 0}}, failback_rows=[_row(_HERE, _BACK, 0, False, 3)])
    assert account.faults == ["g skipped 1 record at the failback"]
