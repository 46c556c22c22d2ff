"""HeaderMatches: which records are meant, by their headers."""

from __future__ import annotations

import pytest

from heliograph.errors import DataError
from heliograph.transforms.own.header_matches import HeaderMatches
from heliograph.transforms.testing import matches, record

HEADERS = [("origin", "eu"), ("origin", "us"), ("tries", "10"), ("empty", None), ("raw", b"\xff")]


@pytest.mark.parametrize(
    ("name", "operator", "value", "expected"),
    [
        ("origin", "equals", "eu", True),
        ("origin", "equals", "us", True),
        ("origin", "equals", "asia", False),
        ("origin", "matches", "e.", True),
        ("tries", "greater", "9", True),
        ("tries", "less", "9", False),
        ("empty", "is-null", None, True),
        ("empty", "exists", None, True),
        ("absent", "exists", None, False),
        ("absent", "not-equals", "x", False),
        ("raw", "exists", None, True),
        ("raw", "contains", "x", False),
    ],
)
def test_operators(name: str, operator: str, value: str | None, expected: bool) -> None:
    settings = {"name": name, "operator": operator} | ({} if value is None else {"value": value})
    assert matches(HeaderMatches, settings, record(headers=HEADERS)) is expected


def test_a_missing_header_is_what_the_setting_says() -> None:
    settings = {"name": "absent", "value": "x"}
    assert matches(HeaderMatches, {**settings, "if.missing": "true"}, record())
    with pytest.raises(DataError, match="HeaderMatches: there is no header absent"):
        matches(HeaderMatches, {**settings, "if.missing": "fail"}, record())


def test_a_name_is_needed() -> None:
    with pytest.raises(ValueError, match="name is missing"):
        matches(HeaderMatches, {"value": "x"}, record())
