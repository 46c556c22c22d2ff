"""The settings of a transform are checked all at once."""

from __future__ import annotations

import pytest

from heliograph.transforms.stage import StageOption
from heliograph.transforms.stage_settings import checked_settings

OPTIONS = (
    StageOption("fields", "The fields to mask.", is_required=True),
    StageOption("mode", "How.", default="mask", choices=("mask", "hash")),
    StageOption("replacement", "With what."),
)


def test_defaults_are_filled_in() -> None:
    assert checked_settings(OPTIONS, {"fields": "a"}) == {"fields": "a", "mode": "mask"}


def test_what_is_given_stands_without_spaces_around_it_as_in_kafka() -> None:
    given = {"fields": " a , b ", "mode": "hash ", "replacement": "  "}
    assert checked_settings(OPTIONS, given) == {"fields": "a , b", "mode": "hash", "replacement": ""}


def test_the_keys_of_every_stage_are_left_out() -> None:
    given = {"fields": "a", "type": "X", "predicate": "p", "negate": "true"}
    assert checked_settings(OPTIONS, given) == {"fields": "a", "mode": "mask"}


def test_other_keys_can_be_reserved() -> None:
    with pytest.raises(ValueError, match="no setting negate"):
        checked_settings(OPTIONS, {"fields": "a", "type": "X", "negate": "true"}, reserved={"type"})


def test_all_problems_are_told_together() -> None:
    with pytest.raises(ValueError, match=r"^fields is missing: The fields to mask") as caught:
        checked_settings(OPTIONS, {"mode": "shred", "field": "a", "colour": "red"})
    assert str(caught.value).split("; ") == [
        "fields is missing: The fields to mask.",
        "mode must be one of mask, hash, not 'shred'",
        "there is no setting field here",
        "did you mean fields?",
        "there is no setting colour here",
        "possible are fields, mode, replacement",
    ]


def test_a_mistyped_key_of_every_stage_is_recognised() -> None:
    with pytest.raises(ValueError, match=r"no setting predicat here; did you mean predicate\?"):
        checked_settings(OPTIONS, {"fields": "a", "predicat": "p"})


def test_where_nothing_can_be_set_it_says_so() -> None:
    with pytest.raises(ValueError, match="no setting colour here; it needs none"):
        checked_settings((), {"type": "X", "colour": "red"})
