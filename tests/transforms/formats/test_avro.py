"""Avro and Kafka Connect's schemas."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.formats.avro import AvroCodec, new_avro
from heliograph.transforms.formats.codec import RecursiveSchema
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct

S = {"type": "record", "name": "S", "namespace": "shop", "fields": [{"name": "i", "type": "int"}]}
E = {"type": "enum", "name": "E", "namespace": "shop", "symbols": ["NEW", "DONE"]}
DAY = 86_400_000


def written(schema: Any, value: Any) -> bytes:
    """What fastavro by itself makes of a value."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), value)
    return target.getvalue()


def codec(schema: Any, *references: Any) -> AvroCodec:
    return AvroCodec.of_text(json.dumps(schema), [json.dumps(reference) for reference in references])


def logical(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": meaning, **more}


def plain(value: Any) -> Any:
    """Structs as maps, to be compared with."""
    if isinstance(value, Struct):
        return {name: plain(item) for name, item in value.values.items()}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


FIXED_DECIMAL = {"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 2}
NOON = datetime(2024, 2, 29, 12, 0, 0, 5000, tzinfo=UTC)
CASES: dict[str, tuple[Any, Any, Any]] = {  # a schema, a value for fastavro, the same value for Kafka Connect
    "boolean": ("boolean", True, True),
    "int": ("int", -(2**31), -(2**31)),
    "long": ("long", 2**63 - 1, 2**63 - 1),
    "float": ("float", 1.5, 1.5),
    "double": ("double", 0.1, 0.1),
    "bytes": ("bytes", b"\0\xff", b"\0\xff"),
    "string": ("string", "grüße 𝄞", "grüße 𝄞"),
    "enum": (E, "DONE", "DONE"),
    "fixed": ({"type": "fixed", "name": "F", "size": 2}, b"ab", b"ab"),
    "array": ({"type": "array", "items": "long"}, [1, 2], [1, 2]),
    "empty array": ({"type": "array", "items": "long"}, [], []),
    "array of records": ({"type": "array", "items": S}, [{"i": 1}], [{"i": 1}]),
    "map": ({"type": "map", "values": "string"}, {"a": "b"}, {"a": "b"}),
    "map of optional records": (
        {"type": "map", "values": ["null", S]},
        {"a": None, "b": {"i": 2}},
        {"a": None, "b": {"i": 2}},
    ),
    "date": (logical("int", "date"), date(1969, 12, 31), Instant(-DAY)),
    "time": (logical("int", "time-millis"), time(0, 0, 1, 5000), Instant(1005)),
    "timestamp": (logical("long", "timestamp-millis"), NOON, Instant(1709208000005)),
    "timestamp in microseconds": (logical("long", "timestamp-micros"), NOON, 1709208000005000),
    "decimal": (logical("bytes", "decimal", precision=9, scale=2), Decimal("-12.30"), Decimal("-12.30")),
    "decimal zero": (logical("bytes", "decimal", precision=9, scale=2), Decimal("0.00"), Decimal("0.00")),
    "decimal of two bytes": (logical("bytes", "decimal", precision=9), Decimal(128), Decimal(128)),
    "large decimal": (logical("bytes", "decimal", precision=64), Decimal(10**40), Decimal(10**40)),
    "fixed decimal": (FIXED_DECIMAL, Decimal("-0.01"), Decimal("-0.01")),
    "optional set": (["null", "string"], "x", "x"),
    "optional null": (["null", "string"], None, None),
    "null last": (["string", "null"], None, None),
    "optional array": (["null", {"type": "array", "items": "int"}], [1], [1]),
    "optional enum": (["null", E], "NEW", "NEW"),
    "optional timestamp": (["null", logical("long", "timestamp-millis")], NOON, Instant(1709208000005)),
    "union of one": (["string"], "x", "x"),
    "union int": (["null", "int", "long", "string"], ("int", 1), {"int": 1}),
    "union long": (["null", "int", "long", "string"], ("long", 1), {"long": 1}),
    "union float": (["float", "double"], ("float", 1.0), {"float": 1.0}),
    "union double": (["float", "double"], ("double", 1.0), {"double": 1.0}),
    "union text": (["int", "string", E], "NEW", {"string": "NEW"}),
    "union enum": (["int", "string", E], ("shop.E", "NEW"), {"E": "NEW"}),
    "union record": (["string", S], ("shop.S", {"i": 1}), {"S": {"i": 1}}),
    "union bytes": (["bytes", {"type": "fixed", "name": "F", "size": 2}], b"ab", {"bytes": b"ab"}),
    "union fixed": (["bytes", {"type": "fixed", "name": "F", "size": 2}], ("F", b"ab"), {"F": b"ab"}),
    "union fixed decimal": (["string", FIXED_DECIMAL], ("D", Decimal("1.25")), {"D": Decimal("1.25")}),
    "union array": (["string", {"type": "array", "items": "string"}], ["x"], {"array": ["x"]}),
    "union map": (["string", {"type": "map", "values": "int"}, S], {"x": 1}, {"map": {"x": 1}}),
    "union date": (["string", logical("int", "date")], ("int", 1), {"int": Instant(DAY)}),
    "union null": (["null", "int", "string"], None, None),
}


@pytest.mark.parametrize(("avro", "theirs", "ours"), CASES.values(), ids=CASES)
def test_values_of_every_type_are_read_and_written_to_the_same_bytes(avro: Any, theirs: Any, ours: Any) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": avro}]}
    data = written(schema, {"f": theirs})
    used = codec(schema)
    found, value = used.decode(b"?????" + data, 5)
    assert found is used.schema
    assert plain(value) == {"f": ours}
    assert used.encode(value) == data


@pytest.mark.parametrize(("avro", "theirs", "ours"), CASES.values(), ids=CASES)
def test_a_schema_that_connect_makes_holds_the_same_values(avro: Any, theirs: Any, ours: Any) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "f", "type": avro}]}
    before = codec(schema)
    _, value = before.decode(written(schema, {"f": theirs}), 0)
    stored, made = new_avro(before.schema)
    again = AvroCodec.of_text(stored.text)
    assert again.schema == before.schema
    assert again.decode(made.encode(value), 0)[1] == value


@pytest.mark.parametrize("kind", ["boolean", "int", "string", "bytes"])
def test_a_value_need_not_be_a_record(kind: str) -> None:
    theirs = {"boolean": True, "int": 5, "string": "x", "bytes": b"x"}[kind]
    used = AvroCodec.of_text(kind)
    assert used.schema == Schema(
        {"boolean": Type.BOOLEAN, "int": Type.INT32, "string": Type.STRING}.get(kind, Type.BYTES)
    )
    assert used.decode(written(kind, theirs), 0)[1] == theirs
    assert used.encode(theirs) == written(kind, theirs)


class TestMeaning:
    def test_names_have_their_namespaces(self) -> None:
        inner = {"type": "record", "name": "Inner", "fields": []}
        outer = {
            "type": "record",
            "name": "a.b.Outer",
            "fields": [{"name": "x", "type": inner}, {"name": "y", "type": "Inner"}],
        }
        schema = codec(outer).schema
        assert schema.name == "a.b.Outer"
        assert [field.schema.name for field in schema.fields] == ["a.b.Inner", "a.b.Inner"]

    def test_optional_means_a_union_with_null(self) -> None:
        assert codec(["null", "string"]).schema == Schema(Type.STRING, is_optional=True)

    def test_defaults_of_fields_are_known(self) -> None:
        fields = [
            {"name": "a", "type": "int", "default": 5},
            {"name": "b", "type": "bytes", "default": "\u00ff"},
            {"name": "c", "type": logical("bytes", "decimal", precision=4, scale=1), "default": "\u0019"},
            {"name": "d", "type": {"type": "array", "items": S}, "default": [{"i": 1}]},
            {"name": "e", "type": ["null", "string"], "default": None},
            {"name": "f", "type": ["int", "string"], "default": 3},
            {"name": "g", "type": logical("int", "date"), "default": 1},
            {"name": "h", "type": "int", "default": "not a number"},
        ]
        schema = codec({"type": "record", "name": "R", "fields": fields}).schema
        found = [plain(field.schema.default) for field in schema.fields]
        assert found == [5, b"\xff", Decimal("2.5"), [{"i": 1}], None, {"int": 3}, Instant(DAY), None]

    def test_a_field_without_value_is_written_as_its_default(self) -> None:
        used = codec({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": 5}]})
        assert used.decode(used.encode(Struct(used.schema)), 0)[1].values == {"a": 5}

    def test_null_stays_null_where_it_may_be_although_there_is_a_default(self) -> None:
        field = {"name": "a", "type": ["string", "null"], "default": "x"}
        used = codec({"type": "record", "name": "R", "fields": [field]})
        assert used.decode(used.encode(Struct(used.schema, {"a": None})), 0)[1].values == {"a": None}

    def test_enums_keep_their_symbols_in_parameters(self) -> None:
        schema = codec({**E, "default": "NEW", "doc": "how far"}).schema
        assert (schema.type, schema.name) == (Type.STRING, "shop.E")
        assert schema.parameters == {
            "io.confluent.connect.avro.enum.doc.E": "how far",
            "io.confluent.connect.avro.enum.default.E": "NEW",
            "io.confluent.connect.avro.Enum": "shop.E",
            "io.confluent.connect.avro.Enum.NEW": "NEW",
            "io.confluent.connect.avro.Enum.DONE": "DONE",
        }

    def test_logical_types_are_those_of_connect(self) -> None:
        decimal = codec(logical("bytes", "decimal", precision=9, scale=2)).schema
        assert (decimal.name, decimal.version) == (DECIMAL, 1)
        assert decimal.parameters == {"scale": "2", "connect.decimal.precision": "9"}
        names = [codec(logical(*item)).schema.name for item in (("int", "date"), ("int", "time-millis"))]
        assert [*names, codec(logical("long", "timestamp-millis")).schema.name] == [DATE, TIME, TIMESTAMP]

    def test_connects_own_properties_are_understood(self) -> None:
        properties = {"connect.name": "my.Name", "connect.version": 3, "connect.doc": "d", "connect.default": 7}
        schema = codec({"type": "int", "connect.type": "int16", "connect.parameters": {"k": "v"}, **properties}).schema
        assert schema == Schema(Type.INT16, name="my.Name", version=3, doc="d", default=7, parameters={"k": "v"})

    def test_maps_with_other_keys_are_arrays_of_pairs(self) -> None:
        fields = [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]
        entry = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro", "fields": fields}
        used = codec({"type": "array", "items": entry})
        assert used.schema == Schema(Type.MAP, key_schema=Schema(Type.INT32), value_schema=Schema(Type.STRING))
        data = written({"type": "array", "items": entry}, [{"key": 1, "value": "a"}])
        assert used.decode(data, 0)[1] == {1: "a"}
        assert used.encode({1: "a"}) == data

    def test_names_may_be_defined_in_referenced_schemas(self) -> None:
        used = codec({"type": "record", "name": "R", "fields": [{"name": "s", "type": "shop.S"}]}, S)
        assert plain(used.decode(b"\x04", 0)[1]) == {"s": {"i": 2}}

    def test_branches_with_the_same_short_name_have_full_names(self) -> None:
        other = {"type": "record", "name": "other.S", "fields": []}
        assert [field.name for field in codec([S, other]).schema.fields] == ["shop.S", "other.S"]


class TestNewSchemas:
    def test_a_changed_schema_is_one_that_avro_knows(self) -> None:
        fields = [
            Field("id", Schema(Type.INT64)),
            Field("small", Schema(Type.INT8, is_optional=True)),
            Field("note", Schema(Type.STRING, is_optional=True, default="x")),
            Field("price", Schema(Type.BYTES, name=DECIMAL, version=1, parameters={"scale": "2"})),
        ]
        stored, used = new_avro(Schema(Type.STRUCT, name="shop.Order", fields=tuple(fields)))
        definition = json.loads(stored.text)
        assert definition["name"] == "shop.Order"
        assert [field["type"] for field in definition["fields"]] == [
            "long",
            ["null", {"type": "int", "connect.type": "int8"}],
            [{"type": "string", "connect.default": "x"}, "null"],
            {
                "type": "bytes",
                "connect.version": 1,
                "connect.parameters": {"scale": "2"},
                "connect.name": DECIMAL,
                "logicalType": "decimal",
                "scale": 2,
                "precision": 64,
            },
        ]
        assert [field.get("default", "none") for field in definition["fields"]] == ["none", None, "x", "none"]
        fastavro.parse_schema(definition)
        values = {"id": 1, "small": -128, "note": None, "price": Decimal("1.5")}
        assert AvroCodec.of_text(stored.text).decode(used.encode(Struct(used.schema, values)), 0)[1].values == {
            **values,
            "price": Decimal("1.50"),
        }

    def test_what_avro_said_before_it_says_again(self) -> None:
        fields = [
            {"name": "count", "type": "int", "default": 5, "doc": "how many"},
            {"name": "at", "type": logical("long", "timestamp-micros")},
        ]
        record = {"type": "record", "name": "shop.R", "fields": fields, "doc": "a record"}
        definition = json.loads(new_avro(codec(record).schema)[0].text)
        assert definition["fields"] == fields
        assert definition["doc"] == "a record"

    def test_structs_without_a_name_get_one(self) -> None:
        inner = Schema(Type.STRUCT, fields=(Field("x", Schema(Type.INT32)),))
        stored, _ = new_avro(Schema(Type.STRUCT, fields=(Field("inner", inner),)))
        definition = json.loads(stored.text)
        assert definition["name"] == "io.confluent.connect.avro.ConnectDefault"
        assert definition["fields"][0]["type"]["name"] == "io.confluent.connect.avro.ConnectDefault2"

    def test_a_name_that_comes_again_is_defined_once(self) -> None:
        inner = codec(S).schema
        stored, _ = new_avro(
            Schema(Type.STRUCT, name="R", fields=(Field("a", inner), Field("b", replace(inner, is_optional=True))))
        )
        assert json.loads(stored.text)["fields"][1]["type"] == ["null", "shop.S"]

    def test_a_name_has_one_meaning_only(self) -> None:
        inner = codec(S).schema
        other = replace(inner, fields=(Field("j", Schema(Type.INT32)),))
        with pytest.raises(DataError, match=r"shop\.S"):
            new_avro(Schema(Type.STRUCT, name="R", fields=(Field("a", inner), Field("b", other))))

    def test_fixed_decimals_of_several_sizes_can_be_in_one_schema(self) -> None:
        fields = [{"name": f"f{size}", "type": {**FIXED_DECIMAL, "name": f"D{size}", "size": size}} for size in (4, 5)]
        stored, _ = new_avro(codec({"type": "record", "name": "R", "fields": fields}).schema)
        fastavro.parse_schema(json.loads(stored.text))


class TestRefusals:
    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("int", 2**31), ("int", 1.5), ("int", True), ("int", "5"), ("int", None), ("long", 2**63), ("string", 5),
            ("string", b"x"), ("bytes", "x"), ("boolean", 1), ("double", "1"), (E, "OLD"), (E, 5),
            ({"type": "fixed", "name": "F", "size": 2}, b"abc"), ({"type": "array", "items": "int"}, "12"),
            ({"type": "array", "items": "int"}, ["1"]), ({"type": "map", "values": "int"}, {1: 1}),
            (logical("int", "date"), Instant(1)), (logical("int", "time-millis"), Instant(DAY + 1)),
            (logical("int", "date"), 5), (logical("bytes", "decimal", scale=1), Decimal("1.25")),
            (logical("bytes", "decimal", scale=1), 1.5), (FIXED_DECIMAL, Decimal(10**12)), (["int", "string"], None),
        ],
    )  # fmt: skip
    def test_a_value_that_does_not_fit_is_told_by_its_field_and_never_shown(self, kind: Any, value: Any) -> None:
        used = codec({"type": "record", "name": "R", "fields": [{"name": "price", "type": kind}]})
        with pytest.raises(DataError, match="field price") as caught:
            used.encode(Struct(used.schema, {"price": value}))
        assert len(str(value)) < 3 or str(value) not in str(caught.value)

    def test_maps_are_taken_for_structs_where_they_fit(self) -> None:
        used = codec(S)
        assert used.encode({"i": 1}) == b"\x02"
        with pytest.raises(DataError, match="no field j"):
            used.encode({"i": 1, "j": 2})

    @pytest.mark.parametrize("data", [b"", b"\x80", b"\x06\x08ab", b"\x06\x02\xff", b"\x40", b"\xff" * 20])
    def test_bytes_of_something_else_are_refused(self, data: bytes) -> None:
        used = codec({"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", "int", S, "string"]}]})
        with pytest.raises(DataError, match="no Avro of this schema"):
            used.decode(data, 0)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            '"nonsense"',
            '{"type": "record"}',
            '["null"]',
            '"null"',
            '["int", "int"]',
            '{"type": "fixed", "name": "F"}',
            "5",
        ],
    )
    def test_schemas_that_are_none_are_refused(self, text: str) -> None:
        with pytest.raises(DataError):
            AvroCodec.of_text(text)

    def test_a_schema_that_contains_itself_is_refused(self) -> None:
        with pytest.raises(RecursiveSchema, match="Tree contains itself"):
            codec({"type": "record", "name": "Tree", "fields": [{"name": "left", "type": ["null", "Tree"]}]})


def test_a_decimal_takes_as_few_bytes_as_javas_would() -> None:
    used = codec(logical("bytes", "decimal", precision=9))
    sizes = {number: len(used.encode(Decimal(number))) - 1 for number in (0, -1, 127, -128, 128, -129)}
    assert sizes == {0: 1, -1: 1, 127: 1, -128: 1, 128: 2, -129: 2}


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_every_decimal_comes_back(unscaled: int) -> None:
    value = Decimal(unscaled).scaleb(-3, Context(prec=40))
    used = codec(logical("bytes", "decimal", precision=40, scale=3))
    assert str(used.decode(used.encode(value), 0)[1]) == str(value)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_timestamp_comes_back(ms: int) -> None:
    used = codec(logical("long", "timestamp-millis"))
    assert used.decode(used.encode(Instant(ms)), 0)[1] == Instant(ms)
