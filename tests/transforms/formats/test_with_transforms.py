"""Transforms on records of a schema registry: what readers of the target find."""

from __future__ import annotations

import json

import pytest

from heliograph.transforms.formats.choice import RecordFormats
from heliograph.transforms.formats.wire import prefix, schema_id
from heliograph.transforms.message import Message, Side
from heliograph.transforms.own.mask_pii import MaskPII
from heliograph.transforms.stage import Transform
from heliograph.transforms.stage_settings import checked_settings
from tests.transforms.comparison import new_stage
from tests.transforms.formats.registry_server import RegistryServer
from tests.transforms.formats.test_avro import plain

TEXT = {"type": "string", "avro.java.string": "String"}
PERSON = {"type": "record", "name": "Person", "fields": [{"name": "phone", "type": ["null", TEXT]}]}
AVRO = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": TEXT, "default": ""},
        {"name": "person", "type": PERSON},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
    ],
}
PROTOBUF = """
syntax = "proto3";
package shop;
message Order {
  enum State { NEW = 0; DONE = 1; }
  message Person { optional string phone = 3; }
  int64 id = 3;
  string email = 5;
  Person person = 6;
  State state = 9;
}
"""
JSON = {
    "type": "object",
    "title": "shop.Order",
    "properties": {
        "id": {"type": "integer"},
        "email": {"type": "string"},
        "person": {"type": "object", "title": "Person", "properties": {"phone": {"type": "string"}}},
        "state": {"type": "string", "enum": ["NEW", "DONE"]},
    },
    "required": ["id", "email", "person", "state"],
}
RECORDS = {
    "AVRO": (json.dumps(AVRO), b"\x0e\x0cabcdef\x02\x0c123456\x02"),
    "PROTOBUF": (PROTOBUF, b"\0\x18\x07\x2a\x06abcdef\x32\x08\x1a\x06123456\x48\x01"),
    "JSON": (json.dumps(JSON), b'{"id":7,"email":"abcdef","person":{"phone":"123456"},"state":"DONE"}'),
}
ORDER = {"id": 7, "email": "abcdef", "person": {"phone": "123456"}, "state": "DONE"}
KINDS = pytest.mark.parametrize("kind", RECORDS)


class Flow:
    """One record on its way through a transform."""

    def __init__(self, registry: RegistryServer, kind: str) -> None:
        settings = {"schema.registry.url": registry.url}
        self.keys, self.values = RecordFormats(settings, is_key=True), RecordFormats(settings, is_key=False)
        text, body = RECORDS[kind]
        self.number = registry.add("orders-value", text, kind)
        self.data = prefix(self.number) + body

    def run(self, transform: Transform) -> Message:
        key, value = Side(b"k", self.keys), Side(self.data, self.values)
        message = transform.apply(Message("orders", 0, 0, key, value, [], "orders", 0))
        assert message is not None
        return message


def smt(name: str, **settings: str) -> Transform:
    stage = new_stage(name, {key.replace("_", "."): text for key, text in settings.items()})
    assert isinstance(stage, Transform)
    return stage


@KINDS
def test_masked_fields_keep_schema_and_id(registry: RegistryServer, kind: str) -> None:
    flow, mask = Flow(registry, kind), MaskPII(is_key=False)
    mask.configure(checked_settings(MaskPII.OPTIONS, {"fields": "email,person.phone"}))
    data = flow.run(mask).value.encoded("orders")
    assert data is not None
    assert schema_id(data) == flow.number
    assert b"abcdef" not in data
    assert b"123456" not in data
    assert plain(flow.values.read("orders", data).value) == {
        **ORDER,
        "email": "ab**ef",
        "person": {"phone": "12**56"},
    }


@KINDS
def test_a_replacement_keeps_schema_and_id(registry: RegistryServer, kind: str) -> None:
    flow = Flow(registry, kind)
    data = flow.run(smt("MaskField$Value", fields="email,id")).value.encoded("orders")
    assert data is not None
    assert schema_id(data) == flow.number
    assert plain(flow.values.read("orders", data).value) == {**ORDER, "email": "", "id": 0}


@KINDS
def test_dropped_and_renamed_fields_make_a_new_version(registry: RegistryServer, kind: str) -> None:
    flow = Flow(registry, kind)
    data = flow.run(smt("ReplaceField$Value", exclude="email", renames="id:number")).value.encoded("orders")
    assert data is not None
    assert registry.ids("orders-value") == [flow.number, schema_id(data)]
    expected = {"number": 7, "person": {"phone": "123456"}, "state": "DONE"}
    assert plain(flow.values.read("orders", data).value) == expected


@KINDS
def test_a_field_of_the_value_becomes_the_key(registry: RegistryServer, kind: str) -> None:
    flow = Flow(registry, kind)
    message = flow.run(smt("ValueToKey", fields="id,state"))
    data = message.key.encoded("orders")
    assert data is not None
    assert registry.ids("orders-key") == [schema_id(data)]
    assert plain(flow.keys.read("orders", data).value) == {"id": 7, "state": "DONE"}
    assert message.value.encoded("orders") == flow.data


@KINDS
def test_a_field_of_another_type_is_another_field(registry: RegistryServer, kind: str) -> None:
    flow = Flow(registry, kind)
    data = flow.run(smt("Cast$Value", spec="id:string")).value.encoded("orders")
    assert data is not None
    assert plain(flow.values.read("orders", data).value) == {**ORDER, "id": "7"}
    if kind == "PROTOBUF":
        text = registry.text(schema_id(data) or 0)
        assert "string id = 3" not in text  # old readers would take it for a number
        assert "string email = 5" in text


@KINDS
def test_nested_fields_that_come_up_get_numbers_of_their_own(registry: RegistryServer, kind: str) -> None:
    flow = Flow(registry, kind)
    data = flow.run(smt("Flatten$Value", delimiter="_")).value.encoded("orders")
    assert data is not None
    expected = {"id": 7, "email": "abcdef", "person_phone": "123456", "state": "DONE"}
    assert plain(flow.values.read("orders", data).value) == expected


@KINDS
def test_masked_enums_become_texts(registry: RegistryServer, kind: str) -> None:
    flow, mask = Flow(registry, kind), MaskPII(is_key=False)
    mask.configure(checked_settings(MaskPII.OPTIONS, {"fields": "state"}))
    data = flow.run(mask).value.encoded("orders")
    assert data is not None
    assert plain(flow.values.read("orders", data).value) == {**ORDER, "state": "****"}
