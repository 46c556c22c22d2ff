"""The record that Python code sees: no change is lost, and nothing changes by looking."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from heliograph.errors import DataError
from heliograph.transforms.message import Header
from heliograph.transforms.record import Record
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct
from heliograph.transforms.testing import record

ODD = b'{ "a" : 1.10, "b": [1, {"c": 1}] }'


def test_looking_leaves_the_bytes_alone() -> None:
    item = record(ODD, key=b'{ "k":1 }')
    assert item.value == {"a": Decimal("1.10"), "b": [1, {"c": 1}]}
    assert item.key == {"k": 1}
    assert (item.key_bytes, item.value_bytes) == (b'{ "k":1 }', ODD)
    message = item.finish()
    assert (message.key.encoded("t"), message.value.encoded("t")) == (b'{ "k":1 }', ODD)


def test_a_change_in_place_counts_however_deep_or_small() -> None:
    for change, expected in [
        (lambda value: value.update(a=2), b'{"a":2,"b":[1,{"c":1}]}'),
        (lambda value: value["b"][1].update(c=True), b'{"a":1.10,"b":[1,{"c":true}]}'),  # though True == 1
        (lambda value: value["b"].append(None), b'{"a":1.10,"b":[1,{"c":1},null]}'),
        (lambda value: value.pop("b"), b'{"a":1.10}'),
        (lambda value: value.update(a=value.pop("a")), b'{"b":[1,{"c":1}],"a":1.10}'),  # another order
    ]:
        item = record(ODD)
        change(item.value)
        assert item.value_bytes == expected
        assert item.finish().value.encoded("t") == expected


def test_a_change_in_place_counts_in_structs_too() -> None:
    inner = Schema(Type.STRUCT, fields=(Field("n", Schema(Type.INT32)),))
    schema = Schema(Type.STRUCT, fields=(Field("in", inner),))
    item = record(Struct(schema, {"in": Struct(inner, {"n": 1})}))
    before = item.value_bytes
    assert isinstance(item.value, Struct)
    assert item.finish().value.encoded("t") == before
    item.value.get("in").put("n", 2)
    assert Record(item.finish()).value.get("in").get("n") == 2


def test_nothing_reaches_the_message_before_the_end() -> None:
    item = record(ODD, key="k", headers={"h": "1"})
    message = item.finish()
    mine = Record(message)
    mine.value["b"].clear()
    mine.key = "other"
    mine.headers.add("x", "2")
    mine.topic, mine.partition, mine.timestamp = "elsewhere", 7, 5
    assert message.value.encoded("t") == ODD
    assert Record(message).value["b"] == [1, {"c": 1}]  # the next one to look sees what was there
    assert (message.key.encoded("t"), message.topic, message.partition, message.timestamp) == (b"k", "topic", 0, 0)
    assert message.headers == [Header("h", b"1")]
    mine.finish()
    assert Record(message).value["b"] == []
    assert (message.key.encoded("t"), message.topic, message.partition, message.timestamp) == (
        b"other",
        "elsewhere",
        7,
        5,
    )
    assert message.headers == [Header("h", b"1"), Header("x", b"2")]


def test_what_an_earlier_stage_shared_between_key_and_value_is_not_changed_on_both_sides() -> None:
    message = record({"in": {"n": 1}}).finish()
    shared = message.value.parsed("t").value["in"]
    message.value.replace(None, {"in": shared})
    message.key.replace(None, shared, message.value)
    item = Record(message)
    item.value["in"]["n"] = 2
    message = item.finish()
    assert (message.key.encoded("t"), message.value.encoded("t")) == (b'{"n":1}', b'{"in":{"n":2}}')


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ({"a": 1}, {"b": 2}, b'{"b":2}'),
        ({"a": 1}, None, None),
        ("text", "other", b"other"),
        ("text", {"a": 1}, b'{"a":1}'),
        (None, {"a": 1}, b'{"a":1}'),
        (None, "text", b"text"),
        (b"\xff", b"\xfe", b"\xfe"),
    ],
)
def test_another_value_instead(before: Any, new: Any, after: bytes | None) -> None:
    item = record(before)
    item.value = new
    assert item.value == new
    assert item.value_bytes == after
    assert item.finish().value.is_null is (after is None)


def test_other_bytes_instead() -> None:
    item = record({"a": 1}, key="k")
    item.value_bytes, item.key_bytes = b'{"z": 0}', None
    assert (item.value, item.key) == ({"z": 0}, None)
    assert item.finish().value.encoded("t") == b'{"z": 0}'
    with pytest.raises(TypeError, match="expected bytes or None, not str"):
        item.value_bytes = "text"  # type: ignore[assignment]


def test_a_value_without_a_struct_keeps_the_schema_it_had() -> None:
    item = record(b'{"schema":{"type":"string","optional":false},"payload":"x"}')
    item.value = "y"
    assert item.value_bytes == b'{"schema":{"type":"string","optional":false},"payload":"y"}'


def test_a_new_struct_is_written_as_the_old_one_was() -> None:
    old, new = (Schema(Type.STRUCT, fields=(Field(name, Schema(Type.INT32)),)) for name in ("a", "b"))
    item = record(Struct(old, {"a": 1}))
    item.value = Struct(new, {"b": 2})
    assert item.value_bytes is not None
    assert item.value_bytes.startswith(b'{"schema":')
    assert Record(item.finish()).value.get("b") == 2


def test_headers_are_a_list_with_names() -> None:
    headers = record(headers=[("a", "1"), ("b", None), ("a", b"\xff")]).headers
    assert (headers.get("a"), headers.get("b", b"x"), headers.get("z"), headers.get("z", b"d")) == (
        b"\xff",
        None,
        None,
        b"d",
    )
    assert headers.get_all("a") == [b"1", b"\xff"]
    assert "a" in headers
    assert "z" not in headers
    assert headers.remove("a") == 2
    headers.set("b", "2")
    headers.add("b", b"3")
    assert [tuple(item) for item in headers] == [("b", b"2"), ("b", b"3")]
    assert len(headers) == 2
    with pytest.raises(TypeError, match="text or bytes, not int"):
        headers.add("n", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("topic", "", "topic"),
        ("topic", None, "topic"),
        ("partition", -1, "partition"),
        ("partition", True, "partition"),
        ("partition", "1", "partition"),
        ("timestamp", 1.5, "timestamp"),
    ],
)
def test_what_no_record_can_have_is_refused(name: str, value: Any, message: str) -> None:
    item = record({"a": 1})
    item.value = {"b": 2}
    setattr(item, name, value)
    with pytest.raises(DataError, match=f"the {message} of a record"):
        item.finish()


def test_it_does_not_show_its_data() -> None:
    assert "secret" not in repr(record({"a": "secret"}, key="secret", headers={"h": "secret"}))
    assert "secret" not in repr(record(headers={"h": "secret"}).headers)
