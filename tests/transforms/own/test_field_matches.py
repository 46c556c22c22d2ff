"""FieldMatches: which records are meant, by what is in them."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph.errors import DataError
from heliograph.transforms.own.field_matches import FieldMatches
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct
from heliograph.transforms.testing import matches, record

ORDER = {
    "country": "DE",
    "total": 99.5,
    "count": 10,
    "paid": True,
    "note": None,
    "digits": "10",
    "customer": {"id": 7, "mail.box": "x@example.com"},
    "items": [{"sku": "a-1", "n": 1}, {"sku": "b-2", "n": 5}],
}


def is_meant(path: str, operator: str, value: str | None = None, item: Any = ORDER, **more: str) -> bool:
    settings = {"path": path, "operator": operator, **{key.replace("_", "."): text for key, text in more.items()}}
    if value is not None:
        settings["value"] = value
    return matches(FieldMatches, settings, record(item))


@pytest.mark.parametrize(
    ("path", "operator", "value", "expected"),
    [
        ("country", "equals", "DE", True),
        ("country", "equals", "de", False),
        ("country", "not-equals", "DE", False),
        ("country", "not-equals", "FR", True),
        ("country", "in", "FR, DE", True),
        ("country", "in", "FR, ES", False),
        ("country", "matches", "D.", True),
        ("country", "matches", "D", False),  # the whole text
        ("country", "contains", "E", True),
        ("country", "contains", "F", False),
        ("country", "starts-with", "D", True),
        ("country", "starts-with", "E", False),
        ("country", "ends-with", "E", True),
        ("country", "ends-with", "D", False),
        ("total", "equals", "99.50", True),  # numbers are equal as numbers
        ("total", "equals", "99", False),
        ("total", "equals", "x", False),
        ("total", "in", "1, 99.5", True),
        ("total", "less", "100", True),
        ("total", "less", "99.5", False),
        ("total", "less-equal", "99.5", True),
        ("total", "less-equal", "99.4", False),
        ("count", "greater", "9", True),  # and not "10" < "9"
        ("count", "greater", "10", False),
        ("count", "greater-equal", "10", True),
        ("count", "greater-equal", "11", False),
        ("count", "greater", "x", False),
        ("count", "less", "x", False),
        ("count", "matches", "1.", True),
        ("digits", "greater", "9", True),
        ("digits", "equals", "10.0", False),  # text is equal as text
        ("country", "greater", "AA", True),
        ("country", "less", "AA", False),
        ("paid", "equals", "true", True),
        ("paid", "equals", "1", False),
        ("note", "equals", "null", False),
        ("note", "not-equals", "x", True),
        ("note", "less", "x", False),
        ("note", "is-null", None, True),
        ("note", "exists", None, True),
        ("country", "is-null", None, False),
        ("country", "exists", None, True),
        ("absent", "exists", None, False),
        ("absent", "is-null", None, False),
        ("absent", "not-equals", "x", False),
        ("customer.id", "equals", "7", True),
        ("customer.absent", "exists", None, False),
        ("country.id", "exists", None, False),
        ("customer.`mail.box`", "ends-with", "@example.com", True),
        ("customer", "contains", "7", False),  # an object has no text
        ("customer", "exists", None, True),
        ("items.sku", "equals", "b-2", True),  # one element is enough
        ("items.sku", "equals", "c-3", False),
        ("items.n", "greater", "4", True),
    ],
)
def test_operators(path: str, operator: str, value: str | None, expected: bool) -> None:
    assert is_meant(path, operator, value) is expected


def test_a_missing_field_is_what_the_setting_says() -> None:
    assert is_meant("absent", "equals", "x", if_missing="true") is True
    assert is_meant("country", "equals", "x", if_missing="true") is False
    assert is_meant("note", "equals", "x", if_missing="true") is False  # null is there
    assert is_meant("absent", "exists", if_missing="true") is False
    with pytest.raises(DataError, match="FieldMatches: the value has no field absent"):
        is_meant("absent", "equals", "x", if_missing="fail")


@pytest.mark.parametrize("item", [None, "text", b"\xff", 7, [], {}])
def test_records_without_fields_miss_them_all(item: Any) -> None:
    assert is_meant("country", "not-equals", "DE", item) is False
    assert is_meant("country", "not-equals", "DE", item, if_missing="true") is True


def test_without_a_path_the_whole_value_is_compared() -> None:
    assert matches(FieldMatches, {"operator": "starts-with", "value": "err"}, record("error: disk full"))
    assert not matches(FieldMatches, {"value": "x"}, record(b"\xff"))
    with pytest.raises(DataError, match="there is no value"):
        matches(FieldMatches, {"value": "x", "if.missing": "fail"}, record(None))


def test_the_key_can_be_looked_at() -> None:
    item = record({"id": 1}, key={"id": 2})
    assert matches(FieldMatches, {"path": "id", "value": "2", "side": "key"}, item)
    assert not matches(FieldMatches, {"path": "id", "value": "2"}, item)
    assert matches(FieldMatches, {"value": "k-1", "side": "key"}, record(1, key="k-1"))


def test_fields_of_structs_are_found_with_their_defaults() -> None:
    schema = Schema(
        Type.STRUCT,
        fields=(Field("a", Schema(Type.INT32)), Field("b", Schema(Type.STRING, is_optional=True, default="blue"))),
    )
    item = record({})
    item.value = Struct(schema, {"a": 5})
    assert matches(FieldMatches, {"path": "a", "operator": "greater", "value": "4"}, item)
    assert matches(FieldMatches, {"path": "b", "value": "blue"}, item)
    assert not matches(FieldMatches, {"path": "c", "operator": "exists"}, item)


def test_digits_beyond_a_double_still_count() -> None:
    assert is_meant("n", "equals", "1.00000000000000000001", b'{"n":1.00000000000000000001}')
    assert not is_meant("n", "equals", "1", b'{"n":1.00000000000000000001}')
    assert is_meant("n", "greater", "9007199254740992", b'{"n":9007199254740993}')


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"path": "a"}, "value is missing"),
        ({"path": "a", "operator": "exists", "value": "x"}, "value has no meaning with operator exists"),
        ({"path": "a", "operator": "like", "value": "x"}, "operator must be one of equals"),
        ({"path": "a", "operator": "matches", "value": "("}, "value: "),
        ({"path": "`a", "value": "x"}, "path: "),
        ({"path": "a", "value": "x", "side": "header"}, "side must be one of value, key"),
    ],
)
def test_refusals_name_the_setting(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matches(FieldMatches, settings, record({}))
