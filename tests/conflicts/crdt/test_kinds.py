"""What each kind of data makes of two states, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph.conflicts.crdt.fields import MERGE_TYPES
from heliograph.errors import DataError


def merged(kind: str, left: Any, right: Any) -> Any:
    found = MERGE_TYPES[kind]
    return found.merge(found.read("f", left), found.read("f", right))


def test_a_counter_adds_up_what_each_cluster_counted() -> None:
    left, right = {"p": {"eu": 5, "us": 1}, "n": {"eu": 1}}, {"p": {"us": 3}, "n": {"us": 2}}
    assert merged("counter", left, right) == {"p": {"eu": 5, "us": 3}, "n": {"eu": 1, "us": 2}, "value": 5}


def test_a_value_that_someone_wrote_into_a_counter_does_not_count() -> None:
    assert merged("counter", {"p": {"eu": 1}, "value": 99}, {})["value"] == 1


def test_a_g_set_holds_all_elements_once_and_tells_1_from_true() -> None:
    assert merged("g-set", ["b", 1, {"x": 1, "y": 2}], ["a", True, "b", {"y": 2, "x": 1}]) == [
        "a",
        "b",
        1,
        True,
        {"x": 1, "y": 2},
    ]


def test_an_element_taken_out_of_an_or_set_is_out() -> None:
    assert merged("or-set", {"adds": {"t1": "a", "t2": "b"}}, {"removes": ["t1"]}) == {
        "adds": {"t2": "b"},
        "removes": ["t1"],
        "value": ["b"],
    }


def test_an_element_put_into_an_or_set_while_it_is_taken_out_elsewhere_stays() -> None:
    assert merged("or-set", {"adds": {"t2": "a"}}, {"removes": ["t1"]})["value"] == ["a"]


def test_an_or_set_shows_an_element_with_two_tags_once() -> None:
    assert merged("or-set", {"adds": {"t1": "a"}}, {"adds": {"t2": "a"}})["value"] == ["a"]


def test_an_or_set_is_written_in_one_way_whoever_took_out_what() -> None:
    tags = [f"t{number}" for number in range(100, 200)]
    assert merged("or-set", {"removes": tags[50:]}, {"removes": tags[:60]})["removes"] == tags


@pytest.mark.parametrize(
    ("left", "right", "value"),
    [
        ({"value": "l", "timestamp": 2}, {"value": "r", "timestamp": 1}, "l"),
        ({"value": "l", "timestamp": 1, "origin": "eu"}, {"value": "r", "timestamp": 1, "origin": "us"}, "r"),
        ({"value": "x", "timestamp": 1}, {"value": "a", "timestamp": 1}, "x"),
        ({"value": None, "timestamp": 2}, {"value": "r", "timestamp": 1}, None),
    ],
)
def test_the_newest_value_of_a_register_counts(left: Any, right: Any, value: Any) -> None:
    assert merged("lww-register", left, right)["value"] == value


def test_each_entry_of_a_map_is_the_newest_and_a_removed_one_is_gone() -> None:
    left = {"entries": {"a": {"value": 1, "timestamp": 1}, "b": {"value": 2, "timestamp": 5}}}
    right = {"entries": {"a": {"removed": True, "timestamp": 2}, "b": {"removed": True, "timestamp": 4}}}
    assert merged("lww-map", left, right)["value"] == {"b": 2}


def test_of_equal_versions_in_a_map_the_removal_counts() -> None:
    for value in (1, True, {"x": 1}):
        left, right = ({"entries": {"a": {**what, "timestamp": 1}}} for what in ({"value": value}, {"removed": True}))
        assert merged("lww-map", left, right)["value"] == merged("lww-map", right, left)["value"] == {}


def test_an_entry_of_a_map_that_is_null_is_there() -> None:
    assert merged("lww-map", {"entries": {"a": {"value": None, "timestamp": 1}}}, {})["value"] == {"a": None}


WHEN = {"timestamp": 1}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *((kind, value) for kind in MERGE_TYPES for value in (None, "secret", 7, {"secret": 1})),
        ("counter", []),
        ("counter", {"p": "secret"}),
        ("counter", {"p": {"eu": -1}}),
        ("counter", {"p": {"eu": True}}),
        ("counter", {"n": {"eu": 1.5}}),
        ("g-set", {}),
        ("or-set", []),
        ("or-set", {"adds": ["secret"]}),
        ("or-set", {"removes": {}}),
        ("or-set", {"removes": [1]}),
        ("lww-register", {"value": "secret"}),
        ("lww-register", WHEN),
        ("lww-register", {"value": 1, "timestamp": "secret"}),
        ("lww-register", {"value": 1, "timestamp": True}),
        ("lww-register", {"value": 1, **WHEN, "origin": 7}),
        ("lww-map", {"entries": []}),
        ("lww-map", {"entries": {"a": "secret"}}),
        ("lww-map", {"entries": {"a": WHEN}}),
        ("lww-map", {"entries": {"a": {"value": 1}}}),
        ("lww-map", {"entries": {"a": {"value": 1, "removed": True, **WHEN}}}),
        ("lww-map", {"entries": {"a": {"removed": 1, **WHEN}}}),
        ("lww-map", {"entries": {"a": {"value": 1, **WHEN, "origin": 7}}}),
    ],
)
def test_what_looks_otherwise_is_refused_by_the_name_of_its_field(kind: str, value: Any) -> None:
    with pytest.raises(DataError, match=f"^the field f is not a {kind}: ") as raised:
        MERGE_TYPES[kind].read("f", value)
    assert "secret" not in str(raised.value)
