"""What a schema that was made anew takes over from the one before."""

from __future__ import annotations

import pytest

from heliograph.transforms.formats.avro import AvroCodec
from heliograph.transforms.formats.inheritance import inherited
from heliograph.transforms.formats.json_schema import JsonSchemaCodec
from heliograph.transforms.schema import Field, Schema, Type

TEXT = Schema(Type.STRING)
TAGGED = Schema(Type.STRING, parameters={"io.confluent.connect.protobuf.Tag": "5"})


def struct(**fields: Schema) -> Schema:
    return Schema(Type.STRUCT, name="S", fields=tuple(Field(name, schema) for name, schema in fields.items()))


def test_fields_of_the_same_name_and_type_are_the_same_fields() -> None:
    before = struct(a=TAGGED, b=TAGGED)
    assert inherited(struct(a=TEXT, b=TAGGED), before) == before


def test_deep_down_too() -> None:
    def around(schema: Schema) -> Schema:
        items = Schema(Type.ARRAY, value_schema=struct(a=schema))
        return struct(x=Schema(Type.MAP, key_schema=TEXT, value_schema=items))

    assert inherited(around(TEXT), around(TAGGED)) == around(TAGGED)


@pytest.mark.parametrize(
    "schema",
    [
        Schema(Type.INT32),
        Schema(Type.STRING, name="other"),
        Schema(Type.STRING, parameters={"own": "1"}),
    ],
)
def test_other_fields_are_other_fields(schema: Schema) -> None:
    assert inherited(struct(a=schema), struct(a=TAGGED)) == struct(a=schema)
    assert inherited(struct(new=TEXT), struct(a=TAGGED)) == struct(new=TEXT)


@pytest.mark.parametrize(
    "before",
    [
        AvroCodec.of_text('{"type": "string", "logicalType": "uuid"}').schema,
        JsonSchemaCodec.of_text('{"type": "string", "format": "email"}').schema,
    ],
)
def test_what_was_said_of_the_values_before_is_not_said_of_those_after(before: Schema) -> None:
    assert inherited(struct(a=TEXT), struct(a=before)) == struct(a=TEXT)
