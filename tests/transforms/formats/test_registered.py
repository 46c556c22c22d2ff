"""Values in Confluent's wire format, from bytes to bytes, with real registries."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats import failures, registered
from heliograph.transforms.formats import registry as registry_module
from heliograph.transforms.formats.choice import RecordFormats
from heliograph.transforms.formats.codec import Codec, StoredSchema
from heliograph.transforms.formats.converters import BYTES, PLAIN_JSON
from heliograph.transforms.formats.wire import prefix, schema_id
from heliograph.transforms.message import Parsed, Side
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct
from tests.transforms.formats.registry_server import RegistryServer

AVRO = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "email", "type": "string"}],
    }
)
PROTOBUF = 'syntax = "proto3"; package shop; message Other {} message Order { int64 id = 1; string email = 2; }'
JSON = json.dumps(
    {
        "type": "object",
        "title": "shop.Order",
        "properties": {"id": {"type": "integer"}, "email": {"type": "string"}},
        "required": ["id", "email"],
    }
)
BODIES = {
    "AVRO": (AVRO, b"\x02\x06a@b"),
    "PROTOBUF": (PROTOBUF, b"\x02\x02\x08\x01\x12\x03a@b"),
    "JSON": (JSON, b'{"id":1,"email":"a@b"}'),
}
KINDS = pytest.mark.parametrize("kind", BODIES)


def formats(source: RegistryServer, target: RegistryServer | None = None, **settings: str) -> RecordFormats:
    urls = {"schema.registry.url": source.url} | ({"target.schema.registry.url": target.url} if target else {})
    return RecordFormats(urls | {key.replace("__", "."): value for key, value in settings.items()}, is_key=False)


def record(server: RegistryServer, kind: str) -> bytes:
    text, body = BODIES[kind]
    return prefix(server.add("orders-value", text, kind)) + body


def masked(parsed: Parsed) -> Struct:
    return Struct(parsed.value.schema, {**parsed.value.values, "email": "***"})


def with_field(schema: Schema, name: str) -> Schema:
    return replace(schema, fields=(*schema.fields, Field(name, Schema(Type.STRING, is_optional=True))))


@KINDS
def test_a_value_is_read_and_written_to_the_same_bytes(registry: RegistryServer, kind: str) -> None:
    data, used = record(registry, kind), formats(registry)
    parsed = used.read("orders", data)
    assert parsed.value.values == {"id": 1, "email": "a@b"}
    assert parsed.schema is not None
    assert parsed.schema.name == "shop.Order"
    assert used.write("A.orders", parsed) == data


@KINDS
def test_a_changed_value_keeps_the_id_of_its_schema(registry: RegistryServer, kind: str) -> None:
    data, used = record(registry, kind), formats(registry)
    parsed = used.read("orders", data)
    for schema in (parsed.schema, replace(parsed.schema or Schema(Type.STRUCT))):  # the same, and an equal one
        changed = used.write("A.orders", Parsed(schema, masked(parsed), parsed.format))
        assert changed is not None
        assert schema_id(changed) == schema_id(data)
        assert used.read("A.orders", changed).value.values == {"id": 1, "email": "***"}
    assert not any(request.startswith("POST") for request in registry.requests)


@KINDS
def test_a_changed_schema_is_registered_once_under_the_targets_topic(registry: RegistryServer, kind: str) -> None:
    data, used = record(registry, kind), formats(registry)
    parsed = used.read("orders", data)
    assert parsed.schema is not None
    for _ in range(3):
        schema = with_field(parsed.schema, "seen")  # another object for each record
        value = Struct(schema, {**parsed.value.values, "seen": "yes"})
        changed = used.write("A.orders", Parsed(schema, value, parsed.format))
        assert changed is not None
        assert registry.ids("A.orders-value") == [schema_id(changed)]
        assert used.read("A.orders", changed).value.values == {"id": 1, "email": "a@b", "seen": "yes"}
    assert registry.requests.count("POST /subjects/A.orders-value/versions") == 1


@KINDS
def test_a_record_is_read_with_the_schema_that_it_was_written_with(registry: RegistryServer, kind: str) -> None:
    old, used = record(registry, kind), formats(registry)
    parsed = used.read("orders", old)
    assert parsed.schema is not None
    schema = with_field(parsed.schema, "seen")
    new = used.write("orders", Parsed(schema, Struct(schema, {"id": 2, "email": "x", "seen": "s"}), parsed.format))
    assert new is not None
    found = [list(used.read("orders", data).value.values) for data in (old, new, old)]
    assert found == [["id", "email"], ["id", "email", "seen"], ["id", "email"]]


@KINDS
def test_another_registry_for_the_target_gets_the_schemas_and_gives_its_own_ids(
    registry: RegistryServer, target_registry: RegistryServer, kind: str
) -> None:
    data, used = record(registry, kind), formats(registry, target_registry)
    parsed = used.read("orders", data)
    assert used.translates
    written = used.write("A.orders", parsed)
    assert written == used.translated("A.orders", data) == prefix(1000) + data[5:]
    assert target_registry.text(1000) == BODIES[kind][0]
    assert target_registry.ids("A.orders-value") == [1000]
    assert used.translated("B.orders", data) == prefix(1000) + data[5:]
    assert target_registry.ids("B.orders-value") == [1000]
    assert [request for request in registry.requests if request.startswith("POST")] == []
    assert len(target_registry.requests) == 2


def test_what_has_no_known_schema_id_is_not_translated(
    registry: RegistryServer, target_registry: RegistryServer
) -> None:
    used = formats(registry, target_registry)
    for data in (b"{}", b"", b"\0\0\0\0\x63rest"):
        assert used.translated("t", data) == data
    assert not formats(registry).translates
    text = {"value__converter": "org.apache.kafka.connect.storage.StringConverter"}
    assert not formats(registry, target_registry, **text).translates


def test_references_go_along_to_another_registry(registry: RegistryServer, target_registry: RegistryServer) -> None:
    target_registry.add("shop.Money", '"string"')  # so that versions differ
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "long"}]}
    registry.add("shop.Money", json.dumps(money))
    reference = {"name": "shop.Money", "subject": "shop.Money", "version": 1}
    text = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "price", "type": "shop.Money"}]})
    number = registry.add("orders-value", text, references=[reference])
    used = formats(registry, target_registry)
    parsed = used.read("orders", prefix(number) + b"\x0a")
    assert parsed.value.values["price"].values == {"cents": 5}
    written = used.write("orders", parsed)
    assert written is not None
    again = RecordFormats({"schema.registry.url": target_registry.url}, is_key=False)
    assert again.read("orders", written).value.values["price"].values == {"cents": 5}
    assert target_registry.ids("shop.Money") == [1000, 1001]


def test_protobuf_imports_are_resolved_through_references(registry: RegistryServer) -> None:
    registry.add("deep", 'syntax = "proto3"; package p; message Deep { string x = 1; }', "PROTOBUF")
    middle = 'syntax = "proto3"; package p; import "a/deep.proto"; message Middle { Deep deep = 1; }'
    registry.add("middle", middle, "PROTOBUF", [{"name": "a/deep.proto", "subject": "deep", "version": 1}])
    text = 'syntax = "proto3"; import "middle.proto"; message M { p.Middle middle = 1; }'
    reference = {"name": "middle.proto", "subject": "middle", "version": 1}
    number = registry.add("t-value", text, "PROTOBUF", [reference])
    parsed = formats(registry).read("t", prefix(number) + b"\0\x0a\x05\x0a\x03\x0a\x01x")
    assert parsed.value.values["middle"].values["deep"].values == {"x": "x"}


def test_an_unknown_id_is_no_frame_and_is_not_asked_for_again(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = formats(registry)
    for _ in range(3):
        assert used.read("t", b"\0\0\0\0\x63\xff").format == BYTES
    assert registry.requests == ["GET /schemas/ids/99"]
    monkeypatch.setattr(failures, "FORGET_SECONDS", 0.0)
    used.read("t", b"\0\0\0\0\x63\xff")
    assert len(registry.requests) == 2


def test_other_records_of_the_topic_are_found_out_without_the_registry(registry: RegistryServer) -> None:
    assert formats(registry).read("t", b'{"a":1}').format == PLAIN_JSON
    assert registry.requests == []


@pytest.mark.parametrize(
    ("converter", "kind"),
    [
        ("io.confluent.connect.avro.AvroConverter", "AVRO"),
        ("io.confluent.connect.protobuf.ProtobufConverter", "PROTOBUF"),
        ("io.confluent.connect.json.JsonSchemaConverter", "JSON"),
    ],
)
class TestConfluentsConverters:
    def test_their_records_are_read_and_written(self, registry: RegistryServer, converter: str, kind: str) -> None:
        data = record(registry, kind)
        used = RecordFormats(
            {"value.converter": converter, "value.converter.schema.registry.url": registry.url}, is_key=False
        )
        assert used.write("orders", used.read("orders", data)) == data
        assert used.write("orders", Parsed(None, None)) is None

    def test_they_take_nothing_else(self, registry: RegistryServer, converter: str, kind: str) -> None:
        used = formats(registry, value__converter=converter)
        with pytest.raises(DataError, match="do not begin with a schema id"):
            used.read("t", b'{"a":1}')
        with pytest.raises(DataError, match="does not know the schema id 99"):
            used.read("t", b"\0\0\0\0\x63x")
        other = next(name for name in BODIES if name != kind)
        with pytest.raises(DataError, match=f"is {other}, but the converter is for {kind}"):
            used.read("t", record(registry, other))
        with pytest.raises(DataError, match="without a schema"):
            used.write("t", Parsed(None, {"a": 1}))

    def test_a_value_from_elsewhere_gets_a_schema_of_their_kind(
        self, registry: RegistryServer, converter: str, kind: str
    ) -> None:
        used = formats(registry, value__converter=converter)
        written = used.write("t", Parsed(Schema(Type.STRING), "x", PLAIN_JSON))
        assert written is not None
        assert registry.ids("t-value") == [schema_id(written)]
        assert used.read("t", written).value == "x"


@KINDS
def test_a_key_that_is_made_of_a_value_gets_a_schema_of_the_same_kind(registry: RegistryServer, kind: str) -> None:
    keys = RecordFormats({"schema.registry.url": registry.url}, is_key=True)
    key, value = Side(b"old", keys), Side(record(registry, kind), formats(registry))
    parsed = value.parsed("orders")
    assert parsed.schema is not None
    key.replace(parsed.schema.by_name["email"].schema, parsed.value.get("email"), like=value)
    written = key.encoded("orders")
    assert written is not None
    assert registry.ids("orders-key") == [schema_id(written)]
    assert keys.read("orders", written).value == "a@b"


@KINDS
def test_a_map_instead_of_a_struct_is_written_with_the_schema_that_was_there(
    registry: RegistryServer, kind: str
) -> None:
    data, used = record(registry, kind), formats(registry)
    parsed = used.read("orders", data)
    assert used.write("orders", Parsed(None, {"id": 1, "email": "a@b"}, parsed.format)) == data


def test_new_schemas_must_be_there_already_if_they_are_not_to_be_registered(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = formats(registry, value__converter__auto__register__schemas="false")
    parsed = used.read("orders", record(registry, "AVRO"))
    changed = Parsed(Schema(Type.STRING), "x", parsed.format)
    with pytest.raises(DataError, match="40403"):
        used.write("t", changed)
    number = registry.add("t-value", '"string"')
    monkeypatch.setattr(failures, "FORGET_SECONDS", 0.0)
    assert used.write("t", changed) == prefix(number) + b"\x02x"


def test_a_schema_that_the_registry_refuses_is_the_records_fault_and_not_sent_again_for_a_while(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = formats(registry)
    parsed = used.read("orders", record(registry, "AVRO"))
    registry.refused.add("orders-value")
    changed = Parsed(Schema(Type.STRING), "x", parsed.format)
    for _ in range(3):
        with pytest.raises(DataError, match="incompatible") as caught:
            used.write("orders", changed)
        assert not isinstance(caught.value, RetryLater)
    assert registry.requests.count("POST /subjects/orders-value/versions") == 1
    registry.refused.clear()
    monkeypatch.setattr(failures, "FORGET_SECONDS", 0.0)
    assert used.write("orders", changed) is not None


def test_a_schema_that_the_targets_registry_refuses_is_not_sent_again_for_a_while(
    registry: RegistryServer, target_registry: RegistryServer
) -> None:
    data, used = record(registry, "AVRO"), formats(registry, target_registry)
    target_registry.refused.add("A.orders-value")
    for _ in range(3):
        with pytest.raises(DataError, match="incompatible"):
            used.translated("A.orders", data)
    assert len(target_registry.requests) == 1


def test_a_registry_that_is_away_is_waited_for(registry: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "_QUIET_SECONDS", 0.0)
    data, used = record(registry, "AVRO"), formats(registry)
    registry.status = 503
    with pytest.raises(RetryLater):
        used.read("orders", data)
    registry.status = None
    assert used.read("orders", data).value.get("id") == 1
    registry.status = 503
    assert used.read("orders", data).value.get("id") == 1  # what is known needs no registry


def test_a_schema_that_cannot_be_used_is_not_tried_for_every_record(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = registry.add("t-value", "message {", "PROTOBUF")
    used = formats(registry)
    told: list[str] = []
    tries: list[StoredSchema] = []
    compiled = registered._codec

    def counted(stored: StoredSchema, references: dict[str, str], indexes: tuple[int, ...]) -> Codec:
        tries.append(stored)
        return compiled(stored, references, indexes)

    monkeypatch.setattr(registered, "_codec", counted)
    for _ in range(2):
        with pytest.raises(DataError, match=f"schema {number}: ") as caught:
            used.read("t", prefix(number) + b"\0")
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert len(tries) == len(registry.requests) == 1


def test_keys_and_values_ask_only_once(registry: RegistryServer) -> None:
    number = registry.add("t-value", '"string"')
    for is_key in (True, False):
        used = RecordFormats({"schema.registry.url": registry.url}, is_key=is_key)
        assert used.read("t", prefix(number) + b"\x02x").value == "x"
    assert len(registry.requests) == 1
