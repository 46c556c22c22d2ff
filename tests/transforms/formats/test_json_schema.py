"""JSON Schema and Kafka Connect's schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from heliograph.errors import DataError
from heliograph.transforms.formats.json_schema import JsonSchemaCodec, new_json_schema
from heliograph.transforms.formats.logical import decimal_schema
from heliograph.transforms.schema import DATE, DECIMAL, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct
from tests.transforms.formats.test_avro import plain

ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer"},
        "small": {"type": "integer", "connect.type": "int16"},
        "email": {"type": "string", "format": "email", "maxLength": 99},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
        "total": {"type": "number"},
        "paid": {"type": ["boolean", "null"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "raw": {"type": "string", "connect.type": "bytes"},
        "day": {"type": "integer", "title": DATE, "connect.type": "int32", "connect.version": 1},
        "at": {"type": "integer", "title": TIMESTAMP, "connect.type": "int64", "connect.version": 1},
        "price": {"type": "number", "title": DECIMAL, "connect.type": "bytes", "connect.parameters": {"scale": "2"}},
    },
    "required": ["id", "email"],
}
FULL = (
    b'{"id":1,"small":-5,"email":"a@b","note":null,"total":1.5,"paid":true,"lines":[{"sku":"x"},{}],'
    b'"labels":{"k":"v"},"raw":"AP8=","day":1,"at":5,"price":12.30}'
)


def codec(schema: Any) -> JsonSchemaCodec:
    return JsonSchemaCodec.of_text(json.dumps(schema))


def test_values_are_read_as_connect_has_them_and_written_to_the_same_text() -> None:
    used = codec(ORDER)
    schema, value = used.decode(b"?" + FULL, 1)
    assert schema is used.schema
    assert plain(value) == {
        "id": 1, "small": -5, "email": "a@b", "note": None, "total": 1.5, "paid": True, "lines": [{"sku": "x"}, {}],
        "labels": {"k": "v"}, "raw": b"\0\xff", "day": Instant(86_400_000), "at": Instant(5), "price": Decimal("12.30"),
    }  # fmt: skip
    assert used.encode(value) == FULL


def test_fields_that_are_not_there_stay_away() -> None:
    used = codec(ORDER)
    _, value = used.decode(b'{"id":1,"email":"x"}', 0)
    assert value.get("note") is None
    assert used.encode(value) == b'{"id":1,"email":"x"}'


def test_what_is_required_must_not_be_null() -> None:
    schema = codec(ORDER).schema
    assert schema is not None
    assert [field.name for field in schema.fields if not field.schema.is_optional] == ["id", "email"]
    assert schema.name == "Order"


@pytest.mark.parametrize(
    "data",
    [
        b'{"id":1,"email":"x","other":1}',  # has more than the schema says
        b'{"id":1}',
        b'{"id":"1","email":"x"}',
        b'{"id":99999999999999999999,"email":"x"}',
        b'{"id":1.0,"email":"x"}',
        b'{"id":1,"email":"x","total":0.12345678901234567890123}',  # would lose digits
        b'{"id":1,"email":null}',
        b'{"id":1,"email":"x","raw":"!"}',
        b"[1]",
        b"5",
    ],
)
def test_values_that_would_lose_something_are_read_without_schema(data: bytes) -> None:
    used = codec(ORDER)
    schema, value = used.decode(data, 0)
    assert schema is None
    assert used.encode(value) == data


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$ref": "other.json"},
        {"type": ["string", "integer"]},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"type": "string"}]},
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "items": [{"type": "string"}]},
        {"type": "object", "properties": {"a": {"$ref": "#/definitions/x"}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
    ],
)
def test_schemas_that_connect_has_no_words_for_are_none(schema: Any) -> None:
    used = codec(schema)
    assert used.schema is None
    assert used.decode(b'{"a":1.10}', 0) == (None, {"a": Decimal("1.10")})
    assert used.encode({"a": Decimal("1.10")}) == b'{"a":1.10}'


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(DataError, match="JSON"):
        codec(ORDER).decode(b"{", 0)
    with pytest.raises(DataError, match="not JSON"):
        JsonSchemaCodec.of_text("{")


def test_a_value_that_does_not_fit_is_told_by_its_field_and_never_shown() -> None:
    used = codec(ORDER)
    assert used.schema is not None
    with pytest.raises(DataError, match="field email: expected str") as caught:
        used.encode(Struct(used.schema, {"id": 1, "email": 123456}))
    assert "123456" not in str(caught.value)


def test_a_changed_schema_keeps_what_was_said_of_the_other_fields() -> None:
    before = codec(ORDER).schema
    assert before is not None
    fields = tuple(field for field in before.fields if field.name != "lines")
    added = Field("seen", Schema(Type.INT32, is_optional=True, default=3))
    stored, made = new_json_schema(replace(before, fields=(*fields, added)))
    document = json.loads(stored.text)
    assert document["additionalProperties"] is False
    assert document["title"] == "Order"
    assert document["required"] == ["id", "email"]
    email = document["properties"]["email"]
    assert email == {"type": "string", "format": "email", "maxLength": 99, "connect.index": 2}
    assert list(document["properties"])[-1] == "seen"
    assert "lines" not in document["properties"]
    again = JsonSchemaCodec.of_text(stored.text)
    assert again.schema == made.schema
    _, value = codec(ORDER).decode(FULL, 0)
    kept = {name: item for name, item in value.values.items() if name != "lines"}
    assert plain(again.decode(made.encode(Struct(made.schema or before, kept)), 0)[1]) == plain(kept)


def test_a_field_whose_type_has_changed_loses_what_was_said_of_the_old_type() -> None:
    before = codec(ORDER).schema
    assert before is not None
    email = replace(before.by_name["email"].schema, type=Type.INT64)
    stored, _ = new_json_schema(replace(before, fields=(Field("email", email),)))
    assert json.loads(stored.text)["properties"]["email"] == {"type": "integer", "connect.index": 0}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema(Type.STRING), "x"),
        (Schema(Type.STRING, is_optional=True), "x"),
        (Schema(Type.INT8), 1),
        (Schema(Type.FLOAT32), 1.5),
        (Schema(Type.BYTES), b"\xff"),
        (decimal_schema(2), Decimal("1.25")),
        (Schema(Type.ARRAY, value_schema=Schema(Type.INT64, is_optional=True)), [1, None]),
        (Schema(Type.MAP, key_schema=Schema(Type.STRING), value_schema=Schema(Type.BOOLEAN)), {"a": True}),
    ],
)
def test_single_values_have_schemas_too(schema: Schema, value: Any) -> None:
    stored, made = new_json_schema(schema)
    again = JsonSchemaCodec.of_text(stored.text)
    assert again.schema == schema
    assert again.decode(made.encode(value), 0) == (schema, value)


def test_maps_with_other_keys_are_refused() -> None:
    with pytest.raises(DataError, match="keys"):
        new_json_schema(Schema(Type.MAP, key_schema=Schema(Type.INT32), value_schema=Schema(Type.INT32)))
