"""Protobuf and Kafka Connect's schemas."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf import message_factory  # type: ignore[import-untyped]

from heliograph.errors import DataError
from heliograph.transforms.formats.codec import RecursiveSchema
from heliograph.transforms.formats.protobuf import ProtobufCodec, new_protobuf
from heliograph.transforms.formats.protobuf_files import message_descriptor
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct
from tests.transforms.formats.test_avro import plain

TAG = "io.confluent.connect.protobuf.Tag"
ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "confluent/type/decimal.proto";
import "confluent/meta.proto";
import "base/address.proto";

message Ignored {}
message Order {
  message Line { string sku = 1; uint32 count = 2; Colour colour = 3; }
  enum Colour { NONE = 0; RED = 1; BLUE = 5; }
  int32 i32 = 1;
  int64 i64 = 2;
  uint32 u32 = 3;
  uint64 u64 = 4;
  sint32 s32 = 5;
  sint64 s64 = 6;
  fixed32 f32 = 7;
  fixed64 f64 = 8;
  sfixed32 sf32 = 9;
  sfixed64 sf64 = 10;
  float real = 11;
  double precise = 12;
  bool flag = 13;
  string text = 14;
  bytes data = 15;
  optional string note = 16;
  optional int32 zero = 17;
  Colour colour = 18;
  repeated Colour colours = 19;
  repeated string tags = 20;
  repeated Line lines = 21;
  map<string, int64> counts = 22;
  map<int32, Line> by_number = 23;
  Line first = 24;
  oneof payment { string card = 25; int64 voucher = 26; Line swap = 27; }
  google.protobuf.Timestamp at = 28;
  google.type.Date day = 29;
  google.type.TimeOfDay hour = 30;
  confluent.type.Decimal price = 31 [
    (confluent.field_meta) = {params: [{key: "scale", value: "2"}, {key: "precision", value: "9"}]}
  ];
  google.protobuf.StringValue wrapped = 32;
  google.protobuf.UInt64Value wrapped_number = 33;
  int32 tiny = 34 [(confluent.field_meta) = {params: [{key: "connect.type", value: "int8"}]}];
  base.Address address = 35;
  repeated google.protobuf.Timestamp moments = 36;
}
"""
REFERENCES = {"base/address.proto": 'syntax = "proto3"; package base; message Address { string city = 1; }'}
FULL: dict[str, Any] = {
    "i32": -(2**31), "i64": 2**63 - 1, "u32": 2**32 - 1, "u64": 2**64 - 1, "s32": -1, "s64": -1, "f32": 1, "f64": 2**63,
    "sf32": -1, "sf64": -1, "real": 1.5, "precise": 0.1, "flag": True, "text": "grüße 𝄞", "data": b"\0\xff", "note": "",
    "zero": 0, "colour": 5, "colours": [0, 1, 5, 7], "tags": ["a", "b"],
}  # fmt: skip


@pytest.fixture(scope="module")
def order() -> ProtobufCodec:
    return ProtobufCodec(ORDER, REFERENCES, (1,))


@pytest.fixture(scope="module")
def message() -> Any:
    """The class of Google's own library."""
    return message_factory.GetMessageClass(message_descriptor(ORDER, REFERENCES, (1,)))


@pytest.fixture
def full(message: Any) -> Any:
    filled = message(**FULL)
    filled.lines.add(sku="x", count=2, colour=1)
    filled.lines.add()
    filled.counts["a"] = 1
    filled.by_number[-5].sku = "y"
    filled.by_number[0].SetInParent()
    filled.first.SetInParent()
    filled.voucher = 0
    filled.at.seconds, filled.at.nanos = -1, 5_000_000
    filled.day.year, filled.day.month, filled.day.day = 2024, 2, 29
    filled.hour.hours, filled.hour.minutes, filled.hour.nanos = 23, 59, 1_000_000
    filled.price.value, filled.price.precision, filled.price.scale = b"\xfb\x32", 9, 2
    filled.wrapped.value = ""
    filled.wrapped_number.value = 2**64 - 1
    filled.tiny = -128
    filled.address.city = "Graz"
    filled.moments.add(seconds=1)
    return filled


def test_values_of_every_type_are_read_as_connect_has_them(order: ProtobufCodec, full: Any) -> None:
    schema, value = order.decode(b"????" + full.SerializeToString(), 4)
    assert schema is order.schema
    found = plain(value)
    assert found == {
        **FULL,
        "u64": -1, "f64": -(2**63), "colour": "BLUE", "colours": ["NONE", "RED", "BLUE", "7"],
        "lines": [{"sku": "x", "count": 2, "colour": "RED"}, {"sku": "", "count": 0, "colour": "NONE"}],
        "counts": {"a": 1},
        "by_number": {
            -5: {"sku": "y", "count": 0, "colour": "NONE"},
            0: {"sku": "", "count": 0, "colour": "NONE"},
        },
        "first": {"sku": "", "count": 0, "colour": "NONE"},
        "payment_0": {"voucher": 0},
        "at": Instant(-995), "day": Instant(1709164800000), "hour": Instant(86_340_001), "price": Decimal("-12.30"),
        "wrapped": "", "wrapped_number": -1, "tiny": -128, "address": {"city": "Graz"}, "moments": [Instant(1000)],
    }  # fmt: skip


def test_what_is_read_is_written_to_the_same_message(order: ProtobufCodec, message: Any, full: Any) -> None:
    _, value = order.decode(full.SerializeToString(), 0)
    data = order.encode(value)
    assert data[:2] == b"\x02\x02"  # the second message of the file
    assert message.FromString(data[2:]) == full


def test_an_empty_message_stays_empty(order: ProtobufCodec) -> None:
    _, value = order.decode(b"", 0)
    absent = ("note", "zero", "first", "payment_0", "at", "day", "price", "wrapped", "address")
    assert [value.values[name] for name in absent] == [None] * len(absent)
    assert order.encode(value) == b"\x02\x02"


def test_schemas_tell_what_connect_has_no_word_for(order: ProtobufCodec) -> None:
    schemas = {field.name: field.schema for field in order.schema.fields}
    assert order.schema.name == "shop.Order"
    assert schemas["text"] == Schema(Type.STRING, parameters={TAG: "14"})
    assert schemas["note"] == Schema(Type.STRING, is_optional=True, parameters={TAG: "16"})
    assert schemas["s32"].parameters == {"io.confluent.connect.protobuf.Type": "sint32", TAG: "5"}
    assert schemas["u32"].type is Type.INT64
    assert schemas["tiny"].type is Type.INT8
    assert schemas["colour"].parameters["io.confluent.connect.protobuf.Enum.BLUE"] == "5"
    assert schemas["payment_0"].name == "io.confluent.connect.protobuf.Union.shop.Order.payment"
    assert [schemas[name].name for name in ("at", "day", "hour", "price")] == [TIMESTAMP, DATE, TIME, DECIMAL]
    assert schemas["price"].parameters == {"scale": "2", "connect.decimal.precision": "9", TAG: "31"}


def test_a_changed_schema_is_one_that_protoc_compiles_and_holds_the_same_values(
    order: ProtobufCodec, full: Any
) -> None:
    _, value = order.decode(full.SerializeToString(), 0)
    fields = tuple(field for field in order.schema.fields if field.name != "text")
    added = Field("seen", Schema(Type.BOOLEAN, is_optional=True))
    schema = replace(order.schema, fields=(*fields, added))
    changed = Struct(schema, {**{name: item for name, item in value.values.items() if name != "text"}, "seen": False})
    stored, made = new_protobuf(schema)
    data = made.encode(changed)
    assert data[:1] == b"\0"  # the only message of its file
    again = ProtobufCodec(stored.text, {}, (0,))
    assert plain(again.decode(data, 1)[1]) == plain(changed)
    kept = {field.name: field.schema.parameters.get(TAG) for field in again.schema.fields}
    assert kept["note"] == "16"
    assert kept["seen"] == "37"


def test_old_readers_understand_what_a_changed_schema_writes(order: ProtobufCodec, message: Any, full: Any) -> None:
    _, value = order.decode(full.SerializeToString(), 0)
    _, made = new_protobuf(replace(order.schema, version=2))
    assert message.FromString(made.encode(Struct(made.schema, value.values))[1:]) == full


@pytest.mark.parametrize(
    ("kind", "value", "indexes"),
    [
        (Type.STRING, "x", b"\x02\x0e"),
        (Type.INT64, -1, b"\x02\x04"),
        (Type.INT32, 1, b"\x02\x08"),
        (Type.FLOAT64, 1.5, b"\0"),
        (Type.BOOLEAN, True, b"\x02\x0c"),
        (Type.BYTES, b"x", b"\x02\x10"),
    ],
)
def test_single_values_are_googles_wrappers(kind: Type, value: Any, indexes: bytes) -> None:
    stored, made = new_protobuf(Schema(kind))
    data = made.encode(value)
    assert data.startswith(indexes)
    used = ProtobufCodec(stored.text, {}, (int(indexes[1:].hex() or "0", 16) // 2,))
    assert used.schema.type is kind
    assert used.decode(data, len(indexes))[1] == value


def test_structs_and_fields_without_names_or_numbers_get_them() -> None:
    inner = Schema(Type.STRUCT, fields=(Field("x", Schema(Type.INT32)),))
    items = Schema(Type.ARRAY, value_schema=inner)
    stored, made = new_protobuf(Schema(Type.STRUCT, fields=(Field("inner", inner), Field("items", items))))
    assert "message ConnectDefault1 {" in stored.text
    value = {"inner": {"x": 1}, "items": [{"x": 2}]}
    assert plain(ProtobufCodec(stored.text, {}, (0,)).decode(made.encode(value), 1)[1]) == value


def test_a_message_that_is_called_like_its_field_gets_another_name() -> None:
    inner = Schema(Type.STRUCT, name="line", fields=(Field("x", Schema(Type.INT32)),))
    stored, made = new_protobuf(Schema(Type.STRUCT, name="M", fields=(Field("line", inner),)))
    assert "lineMessage line = 1;" in stored.text
    assert plain(made.decode(made.encode({"line": {"x": 1}}), 1)[1]) == {"line": {"x": 1}}


def test_proto2_fields_may_be_required_or_absent() -> None:
    text = 'syntax = "proto2"; message M { required int32 a = 1; optional int32 b = 2 [default = 7]; }'
    used = ProtobufCodec(text, {}, (0,))
    assert [field.schema.is_optional for field in used.schema.fields] == [False, True]
    assert used.decode(b"\x08\x01", 0)[1].values == {"a": 1, "b": None}
    with pytest.raises(DataError, match="missing"):
        used.encode({"b": 1})


def test_a_nested_message_is_found_by_its_indexes() -> None:
    text = 'syntax = "proto3"; message A {} message B { message C {} message D { string x = 1; } }'
    assert ProtobufCodec(text, {}, (1, 1)).schema.name == "B.D"


def test_a_oneof_may_look_like_what_protoc_makes_of_optional_fields() -> None:
    used = ProtobufCodec('syntax = "proto3"; message M { oneof _x { string x = 1; } }', {}, (0,))
    assert plain(used.decode(b"\x0a\x01a", 0)[1]) == {"_x_0": {"x": "a"}}


class TestRefusals:
    @pytest.mark.parametrize("indexes", [(9,), (1, 9), (-1,)])
    def test_a_message_that_is_not_there(self, indexes: tuple[int, ...]) -> None:
        with pytest.raises(DataError, match="no message of the number"):
            message_descriptor(ORDER, REFERENCES, indexes)

    def test_a_text_that_protoc_refuses(self) -> None:
        with pytest.raises(DataError, match=r"cannot be compiled: default\.proto:1"):
            ProtobufCodec("message {", {}, (0,))

    def test_an_import_from_outside(self) -> None:
        with pytest.raises(DataError, match="outside"):
            ProtobufCodec("", {"../x.proto": ""}, (0,))

    def test_a_message_that_contains_itself(self) -> None:
        with pytest.raises(RecursiveSchema, match="Tree contains itself"):
            ProtobufCodec('syntax = "proto3"; message Tree { Tree left = 1; }', {}, (0,))

    def test_bytes_of_something_else(self, order: ProtobufCodec) -> None:
        with pytest.raises(DataError, match="no Protobuf message"):
            order.decode(b"\xff\xff", 0)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("i32", 2**31), ("i32", "55"), ("i32", 1.5), ("text", 555), ("text", "\ud800"), ("data", 555),
            ("colour", "GREEN"), ("tags", "abc"), ("tags", [555]), ("counts", ["abc"]), ("counts", {"abc": "def"}),
            ("first", "abc"), ("first", {"abc": 1}), ("at", 555), ("day", Instant(555)), ("day", Instant(10**18)),
            ("hour", Instant(10**9)), ("price", 1.25), ("wrapped", 555), ("payment_0", {"voucher": "abc"}),
        ],
    )  # fmt: skip
    def test_a_value_that_does_not_fit_is_told_by_its_field_and_never_shown(
        self, order: ProtobufCodec, name: str, value: Any
    ) -> None:
        with pytest.raises(DataError, match=f"field {name}") as caught:
            order.encode(Struct(order.schema, {name: value}))
        assert name == "first" or not any(text in str(caught.value) for text in ("555", "abc", "GREEN", "def"))

    def test_a_field_that_the_schema_does_not_have(self, order: ProtobufCodec) -> None:
        with pytest.raises(DataError, match="no field strange"):
            order.encode({"strange": 1})

    @pytest.mark.parametrize(
        "schema",
        [
            Schema(Type.ARRAY, value_schema=Schema(Type.INT32)),
            Schema(Type.INT64, name=TIMESTAMP),
            Schema(Type.STRUCT, fields=(Field("a", Schema(Type.ARRAY, value_schema=Schema(Type.ARRAY))),)),
            Schema(Type.STRUCT, fields=(Field("a-b", Schema(Type.INT32)),)),
            Schema(
                Type.STRUCT,
                fields=(
                    Field("a", Schema(Type.MAP, key_schema=Schema(Type.FLOAT64), value_schema=Schema(Type.INT32))),
                ),
            ),
        ],
    )
    def test_schemas_that_protobuf_has_nothing_like(self, schema: Schema) -> None:
        with pytest.raises(DataError):
            new_protobuf(schema)
