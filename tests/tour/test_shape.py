"""Two answers are alike if their keys and types are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tour.shape import Shape


def _differ(one: Any, other: Any, is_free: bool = False) -> bool:
    return bool(Shape().add(one, is_free).differences(Shape().add(other, is_free)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ([{"a": 1}], []),
        ([{"a": 1}, {"a": None}], [{"a": None}, {"a": 5}]),
        ({"config": {"x": "1"}}, {"config": {"y": "2"}}),
    ],
)
def test_values_and_numbers_of_items_do_not_matter(one: Any, other: Any) -> None:
    assert not _differ(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": [{"b": 1}]}, {"a": [{"b": "1"}]}),
        ([{"a": 1}, {"a": None}], [{"a": 1}]),
        ({"config": {"x": "1"}}, {"config": {"x": 1}}),
        ([], {}),
    ],
)
def test_keys_and_types_do(one: Any, other: Any) -> None:
    assert _differ(one, other)


def test_the_keys_of_a_free_map_do_not_matter() -> None:
    assert not _differ({"x": "1"}, {"y": "1"}, is_free=True)
    assert _differ({"x": "1"}, {"y": 1}, is_free=True)
