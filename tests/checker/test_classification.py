"""What each single change of a copy is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.model import TopicPartition
from tests.checker.classification import classify
from tests.checker.finding import Finding, Kind
from tests.checker.stock_reader import Content, Seen

NAME = TopicPartition("orders", 0)


def log(letters: str, base: int = 0) -> list[Seen]:
    return [
        Seen(base + i, Content(letter.encode(), b"value of " + letter.encode(), (), i))
        for i, letter in enumerate(letters)
    ]


def copy_of(source: Sequence[Seen], order: Sequence[int]) -> list[Seen]:
    return [Seen(100 + i, source[index].content) for i, index in enumerate(order)]


def findings(source: Sequence[Seen], target: Sequence[Seen]) -> list[tuple[Kind, int | None, int | None]]:
    return [(item.kind, item.source_offset, item.target_offset) for item in classify(NAME, source, target)]


SOURCE = log("abcdef")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ([0, 1, 2, 3, 4, 5], []),
        ([1, 2, 3, 4, 5], [(Kind.LOST, 0, 100)]),
        ([0, 1, 3, 4, 5], [(Kind.LOST, 2, 102)]),
        ([0, 1, 2, 3, 4], [(Kind.LOST, 5, None)]),
        ([0, 1, 1, 2, 3, 4, 5], [(Kind.DUPLICATE, 2, 102)]),
        ([0, 1, 2, 3, 4, 5, 0], [(Kind.DUPLICATE, None, 106)]),
        ([0, 1, 2, 0, 1, 2, 3, 4, 5], [(Kind.DUPLICATE, 3, 103 + i) for i in range(3)]),
        ([0, 2, 1, 3, 4, 5], [(Kind.REORDERED, 1, 101)]),
        ([5, 0, 1, 2, 3, 4], [(Kind.REORDERED, 0, 100)]),
        ([], [(Kind.LOST, i, None) for i in range(6)]),
        ([0, 0, 2, 3, 4, 5], [(Kind.LOST, 1, 101), (Kind.DUPLICATE, 2, 101)]),
    ],
)
def test_each_change_of_order_and_count_has_its_name(
    order: list[int], expected: list[tuple[Kind, int | None, int | None]]
) -> None:
    assert findings(SOURCE, copy_of(SOURCE, order)) == expected


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda content: content._replace(key=None), ("key",)),
        (lambda content: content._replace(value=b""), ("value",)),
        (lambda content: content._replace(headers=(("h", None),)), ("headers",)),
        (lambda content: content._replace(timestamp=99), ("timestamp",)),
        (lambda content: content._replace(key=b"x", timestamp=99), ("key", "timestamp")),
    ],
)
def test_an_altered_record_names_its_fields(change: Callable[[Content], Content], fields: tuple[str, ...]) -> None:
    target = copy_of(SOURCE, range(6))
    target[3] = Seen(103, change(target[3].content))
    assert list(classify(NAME, SOURCE, target)) == [Finding(Kind.ALTERED, NAME, 3, 103, fields)]


def test_a_foreign_record_is_unexpected_and_loses_nothing() -> None:
    target = copy_of(SOURCE, range(6))
    target.insert(2, Seen(90, Content(b"?", b"?", (("?", b"?"),), 77)))
    assert findings(SOURCE, target) == [(Kind.UNEXPECTED, 2, 90)]


def test_a_foreign_record_in_place_of_another_is_not_called_altered() -> None:
    target = copy_of(SOURCE, range(6))
    target[2] = Seen(102, Content(b"?", b"?", (("?", b"?"),), 77))
    assert findings(SOURCE, target) == [(Kind.LOST, 2, 102), (Kind.UNEXPECTED, 3, 102)]


def test_a_repeated_record_from_before_the_first_difference_is_a_duplicate() -> None:
    passed = {hash(SOURCE[0].content)}
    found = list(classify(NAME, [], copy_of(SOURCE, [0]), passed))
    assert [item.kind for item in found] == [Kind.DUPLICATE]


@given(st.lists(st.integers(0, 4)), st.lists(st.integers(0, 4)))
def test_findings_account_for_every_record(here: list[int], there: list[int]) -> None:
    contents = [Content(None, bytes([number]), (), 0) for number in range(5)]
    source = [Seen(i, contents[number]) for i, number in enumerate(here)]
    target = [Seen(i, contents[number]) for i, number in enumerate(there)]
    kinds = [item.kind for item in classify(NAME, source, target)]
    added = sum(kind in (Kind.DUPLICATE, Kind.UNEXPECTED) for kind in kinds)
    assert len(target) == len(source) - kinds.count(Kind.LOST) + added
    assert (not kinds) == (here == there)
