"""The race's own judges: they see what is skipped, repeated, out of order or late."""

from __future__ import annotations

import pytest

from tests.race.racer import Racer, Values, judge
from tests.race.watch import History, right_since

KEPT = {0: [b"a", b"b", b"c"], 1: [b"d"]}


def judged(on_source: Values, on_target: Values) -> tuple[int, int, bool]:
    racer = Racer("group", 0.5, 1.0, 1, on_source=on_source, on_target=on_target)
    outcome = judge(racer, KEPT, None)
    return outcome.skipped, outcome.repeated, outcome.is_exact


@pytest.mark.parametrize(
    ("on_source", "on_target", "wanted"),
    [
        ({0: [b"a"]}, {0: [b"b", b"c"], 1: [b"d"]}, (0, 0, True)),
        ({}, {0: [b"a", b"b", b"c"], 1: [b"d"]}, (0, 0, True)),
        ({0: [b"a"]}, {0: [b"c"], 1: [b"d"]}, (1, 0, False)),
        ({0: [b"a", b"b"]}, {0: [b"a", b"b", b"c"], 1: [b"d"]}, (0, 2, False)),
        ({0: [b"b", b"a"]}, {0: [b"c"], 1: [b"d"]}, (0, 0, False)),
        ({0: [b"a", b"aborted"]}, {0: [b"b", b"c"], 1: [b"d"]}, (0, 0, False)),
    ],
)
def test_only_every_record_once_and_in_order_is_exact(
    on_source: Values, on_target: Values, wanted: tuple[int, int, bool]
) -> None:
    assert judged(on_source, on_target) == wanted


@pytest.mark.parametrize(
    ("history", "wanted"),
    [
        ([(0.0, {}), (5.0, {0: 7})], 5.0),
        ([(0.0, {}), (5.0, {0: 9})], 5.0),  # the marker of a transaction lies between
        ([(0.0, {}), (5.0, {0: 6})], None),
        ([(0.0, {}), (5.0, {0: 10})], None),
        ([(0.0, {}), (5.0, {0: 7}), (6.0, {0: 6}), (7.0, {0: 8}), (8.0, {0: 9})], 7.0),
        ([(0.0, {}), (5.0, {0: 7, 1: 1})], None),
    ],
)
def test_a_group_is_right_if_just_what_it_has_done_lies_before_it(history: History, wanted: float | None) -> None:
    copy = {0: [5, 6, 9, 10], 1: [0]}
    assert right_since(history, {0: 2}, copy) == wanted
