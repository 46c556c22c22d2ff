"""Which format a record is in, and that it is written as it was read."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

from heliograph.config.secret import Secret
from heliograph.errors import DataError
from heliograph.transforms.formats.choice import RecordFormats
from heliograph.transforms.formats.converters import BYTES, ENVELOPE, PLAIN_JSON, TEXT
from heliograph.transforms.message import Parsed, Side
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct
from tests.transforms.formats.registry_server import RegistryServer
from tests.transforms.java_oracle import JavaOracle, OracleError

JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
OPTIONAL_STRING = Schema(Type.STRING, is_optional=True)
ENVELOPED = (
    b'{"schema":{"type":"struct","fields":[{"type":"string","optional":false,"field":"a"}],"optional":false},'
    b'"payload":{"a":"x"}}'
)


def values(**settings: str | Secret) -> RecordFormats:
    return RecordFormats({key.replace("__", "."): text for key, text in settings.items()}, is_key=False)


def converter(name: str, **settings: str) -> RecordFormats:
    return RecordFormats({"value.converter": name, **{f"value.converter.{k}": v for k, v in settings.items()}}, False)


class TestFindingOut:
    @pytest.mark.parametrize(
        ("data", "form", "value"),
        [
            (b'{"a":1}', PLAIN_JSON, {"a": 1}),
            (b" [1, 2.50] ", PLAIN_JSON, [1, Decimal("2.50")]),
            (b"17", PLAIN_JSON, 17),
            (b'"x"', PLAIN_JSON, "x"),
            (b"null", PLAIN_JSON, None),
            (b'{"schema":"x","payload":1}', PLAIN_JSON, {"schema": "x", "payload": 1}),
            (b'{"schema":{"type":5},"payload":1}', PLAIN_JSON, {"schema": {"type": 5}, "payload": 1}),
            (
                b'{"schema":{"type":"int8"},"payload":1,"x":2}',
                PLAIN_JSON,
                {"schema": {"type": "int8"}, "payload": 1, "x": 2},
            ),
            (b'{"schema":{"type":"int8"},"payload":1}', ENVELOPE, 1),
            (b'{ "payload": 1, "schema": {"type": "int8"} }', ENVELOPE, 1),
            (b'{"schema":null,"payload":{"a":1}}', ENVELOPE, {"a": 1}),
            (b"hello", TEXT, "hello"),
            ("grüße".encode(), TEXT, "grüße"),
            (b"{a:1}", TEXT, "{a:1}"),
            (b"", TEXT, ""),
            (b"\xff\xfe", BYTES, b"\xff\xfe"),
            (b"\0\0\0\0\0\0\0\x05", BYTES, b"\0\0\0\0\0\0\0\x05"),
            (b"\0\0\0\0\x05x", BYTES, b"\0\0\0\0\x05x"),
        ],
    )
    def test_each_record_is_looked_at(self, data: bytes, form: str, value: Any) -> None:
        found = values().read("t", data)
        assert (found.format, found.value) == (form, value)

    def test_an_envelope_has_its_schema(self) -> None:
        found = values().read("t", ENVELOPED)
        assert found.schema == Schema(Type.STRUCT, fields=(Field("a", Schema(Type.STRING)),))
        assert found.value.values == {"a": "x"}

    def test_an_envelope_with_something_else_in_it_is_refused_rather_than_taken_for_plain_json(self) -> None:
        with pytest.raises(DataError):
            values().read("t", b'{"schema":{"type":"struct","fields":[{"type":"string","field":"a"}]},"payload":[1]}')

    @pytest.mark.parametrize("data", [b'{"a":1.10}', ENVELOPED, b"text", b"\xff", b"12"])
    def test_what_is_read_is_written_the_same(self, data: bytes) -> None:
        formats = values()
        assert formats.write("t", formats.read("t", data)) == data

    @pytest.mark.parametrize(
        ("data", "value", "expected"),
        [
            (b"text", {"a": "text"}, b'{"a":"text"}'),
            (b"text", ["x"], b'["x"]'),
            (b"text", "other", b"other"),
            (b"text", 5, b"5"),
            (b"text", True, b"true"),
            (b"text", b"\xff", b"\xff"),
            (b"\xff", "text", b"text"),
            (b"\xff", {"a": 1}, b'{"a":1}'),
            (b'{"a":1}', "text", b'"text"'),
            (b'{"a":1}', b"\xff", b'"/w=="'),
            (b'{"a":1}', None, None),
            (b"text", None, None),
            (b"\xff", None, None),
        ],
    )
    def test_a_changed_value_is_written_in_the_format_of_what_was_there(
        self, data: bytes, value: Any, expected: bytes | None
    ) -> None:
        side = Side(data, values())
        side.parsed("t")
        side.replace(None, value)
        assert side.encoded("t") == expected

    @pytest.mark.parametrize(
        ("value", "key"), [(b'{"id":7}', b"7"), (b'{"schema":null,"payload":{"id":7}}', b'{"schema":null,"payload":7}')]
    )
    def test_a_key_that_is_made_of_a_value_takes_its_format(self, value: bytes, key: bytes) -> None:
        key_side, value_side = Side(b"old", RecordFormats({}, is_key=True)), Side(value, values())
        key_side.replace(None, value_side.parsed("t").value["id"], like=value_side)
        assert key_side.encoded("t") == key

    def test_a_key_where_there_was_none_is_written_by_its_type(self) -> None:
        side = Side(None, RecordFormats({}, is_key=True))
        side.replace(None, {"a": 1})
        assert side.encoded("t") == b'{"a":1}'
        schema = Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32)),))
        side.replace(schema, Struct(schema, {"a": 2}))
        assert side.encoded("t") == b'{"a":2}'

    def test_a_text_that_utf8_cannot_write_is_refused(self) -> None:
        with pytest.raises(DataError, match="UTF-8"):
            values().write("t", Parsed(None, "\ud800", TEXT))

    def test_without_a_registry_framed_bytes_are_bytes(self) -> None:
        assert values().read("t", b"\0\0\0\0\x01\xff").format == BYTES


class TestConverters:
    def test_json_has_schemas_unless_told_otherwise(self) -> None:
        with pytest.raises(DataError):
            converter(JSON).read("t", b'{"a":1}')
        assert converter(JSON).read("t", ENVELOPED).schema is not None
        plain = converter(JSON, **{"schemas.enable": "false"})
        assert plain.read("t", ENVELOPED) == Parsed(None, json.loads(ENVELOPED), PLAIN_JSON)

    def test_json_without_schemas_leaves_the_schema_out(self) -> None:
        plain, parsed = converter(JSON, **{"schemas.enable": "false"}), converter(JSON).read("t", ENVELOPED)
        assert plain.write("t", parsed) == b'{"a":"x"}'
        assert plain.write("t", Parsed(None, None)) is None
        assert plain.write("t", Parsed(OPTIONAL_STRING, None)) == b"null"

    def test_decimals_are_numbers_if_told_so(self) -> None:
        schema = Schema(Type.BYTES, name="org.apache.kafka.connect.data.Decimal", version=1, parameters={"scale": "1"})
        numeric = {"schemas.enable": "false", "decimal.format": "numeric"}
        assert converter(JSON, **numeric).write("t", Parsed(schema, Decimal("1.5"))) == b"1.5"
        assert converter(JSON, **{"schemas.enable": "false"}).write("t", Parsed(schema, Decimal("1.5"))) == b'"Dw=="'

    def test_text_is_text_whatever_it_looks_like(self) -> None:
        formats = converter(STRING)
        assert formats.read("t", b'{"a":1}') == Parsed(OPTIONAL_STRING, '{"a":1}', TEXT)
        assert formats.write("t", Parsed(None, 1e10)) == b"1.0E10"  # as Java's toString
        assert formats.write("t", Parsed(None, {"a": 1})) == b'{"a":1}'
        assert formats.write("t", Parsed(None, None)) is None
        assert converter(STRING, **{"converter.encoding": "ISO-8859-1"}).read("t", b"\xfc").value == "ü"

    def test_a_key_that_is_made_of_a_value_takes_the_format_of_its_converter(self) -> None:
        key, value = Side(b"old", RecordFormats({}, is_key=True)), Side(ENVELOPED, converter(JSON))
        key.replace(Schema(Type.STRING), value.parsed("t").value.get("a"), like=value)
        assert key.encoded("t") == b'{"schema":{"type":"string","optional":false},"payload":"x"}'

    @pytest.mark.parametrize(
        ("name", "data", "value"),
        [
            ("Short", b"\xff\xfe", -2),
            ("Integer", b"\0\0\0\x05", 5),
            ("Long", b"\0\0\0\0\0\0\0\x05", 5),
            ("Float", b"\x3f\xc0\0\0", 1.5),
            ("Double", b"\x3f\xf8\0\0\0\0\0\0", 1.5),
        ],
    )
    def test_numbers_are_what_the_converters_of_kafka_make_of_them(self, name: str, data: bytes, value: float) -> None:
        formats = converter(f"org.apache.kafka.connect.converters.{name}Converter")
        found = formats.read("t", data)
        assert found.value == value
        assert formats.write("t", found) == data
        assert formats.write("t", Parsed(None, None)) is None
        with pytest.raises(DataError, match="bytes for a number"):
            formats.read("t", data + b"x")
        with pytest.raises(DataError, match="str"):
            formats.write("t", Parsed(None, "x"))

    def test_keys_and_values_have_their_own(self) -> None:
        settings = {"key.converter": STRING, "value.converter": JSON, "value.converter.schemas.enable": "false"}
        assert RecordFormats(settings, is_key=True).read("t", b"1").value == "1"
        assert RecordFormats(settings, is_key=False).read("t", b"1").value == 1

    @pytest.mark.parametrize("data", [ENVELOPED, b"null", b"{}", b"", b'{"schema":{"type":"int8"},"payload":1}'])
    @pytest.mark.parametrize("name", ["json", "json-schemas", "string"])
    def test_they_do_what_javas_do(self, java_oracle: JavaOracle, name: str, data: bytes) -> None:
        expected = java_oracle.converted(data, name)
        formats = converter(JSON if name.startswith("json") else STRING, **{"schemas.enable": str(name != "json")})
        if isinstance(expected, OracleError):
            with pytest.raises(DataError):
                formats.read("t", data)
        else:
            found = formats.write("t", formats.read("t", data))
            assert found == expected or json.loads(found or b"") == json.loads(expected or b"")


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"value.converter": "com.example.Mine"}, "value.converter must be one of"),
            ({"value.converter": AVRO}, "value.converter needs the address of a schema registry"),
            ({"value.converter": JSON, "value.converter.schemas.enable": "maybe"}, "value.converter.schemas.enable"),
            ({"value.converter": JSON, "value.converter.decimal.format": "hex"}, "value.converter.decimal.format"),
            ({"value.converter": STRING, "value.converter.converter.encoding": "klingon"}, "converter.encoding"),
            ({"target.schema.registry.url": "http://x"}, "target.schema.registry.url"),
            ({"schema.registry.url": "x"}, "schema.registry.url"),
        ],
    )
    def test_what_is_wrong_is_told_by_its_key(self, settings: dict[str, str], told: str) -> None:
        with pytest.raises(ValueError, match=told):
            RecordFormats(settings, is_key=False)

    def test_the_default_class_name_means_to_find_out(self) -> None:
        assert converter("org.apache.kafka.connect.converters.ByteArrayConverter").read("t", b"1").format == PLAIN_JSON


def test_formats_go_to_other_processes_without_what_they_know(registry: RegistryServer) -> None:
    number = registry.add("t-value", '"string"')
    settings: dict[str, str | Secret] = {"schema.registry.url": registry.url}
    settings["schema.registry.basic.auth.user.info"] = Secret("me:pass-word")
    formats = RecordFormats(settings, is_key=False)
    data = b"\0" + number.to_bytes(4, "big") + b"\x02x"
    assert formats.read("t", data).value == "x"
    pickled = pickle.dumps(formats)
    assert b"pass-word" not in pickled
    assert len(pickled) < 1000
    assert pickle.loads(pickled).read("t", data).value == "x"
