"""MaskPII on records whose schemas are in a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO

import fastavro
import pytest

from heliograph.transforms.own.mask_pii import MaskPII
from heliograph.transforms.record import Record
from heliograph.transforms.testing import record, run
from tests.transforms.formats.registry_server import RegistryServer, running_registry

PERSON = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "email", "type": ["null", "string"]},
        {"name": "ssn", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["ADULT", "CHILD"]}},
        {"name": "id", "type": "int"},
    ],
}
ADA = {"email": "ada@example.com", "ssn": 78051120, "kind": "ADULT", "id": 1}


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with running_registry() as server:
        yield server


def framed(number: int, body: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + body


def masked(registry: RegistryServer, data: bytes, fields: str) -> bytes:
    (result,) = run(MaskPII, {"fields": fields}, record(data, formats={"schema.registry.url": registry.url}))
    assert isinstance(result, Record), result
    assert result.value_bytes is not None
    return result.value_bytes


def avro(number: int) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, PERSON, ADA)
    return framed(number, body.getvalue())


def test_a_masked_text_keeps_its_schema(registry: RegistryServer) -> None:
    number = registry.add("topic-value", json.dumps(PERSON))
    left = masked(registry, avro(number), "email")
    assert int.from_bytes(left[1:5], "big") == number
    found = fastavro.schemaless_reader(BytesIO(left[5:]), PERSON, None)
    assert found == {**ADA, "email": "ad***********om"}


def test_what_was_no_text_becomes_text_in_a_new_schema(registry: RegistryServer) -> None:
    left = masked(registry, avro(registry.add("topic-value", json.dumps(PERSON))), "ssn, kind")
    number = int.from_bytes(left[1:5], "big")
    assert registry.ids("topic-value")[-1] == number
    found = fastavro.schemaless_reader(BytesIO(left[5:]), json.loads(registry.text(number)), None)
    assert found == {**ADA, "ssn": "78****20", "kind": "AD*LT"}


def test_a_schema_without_the_fields_leaves_the_bytes_as_they_are(registry: RegistryServer) -> None:
    data = avro(registry.add("topic-value", json.dumps(PERSON)))
    assert masked(registry, data, "phone") == data


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":1,"email":"ada@example.com"}',
        b'{"id":1,"email":"ada@example.com","email":null}',
        b'{"id":{"email":"ada@example.com"},"id":1}',
    ],
)
@pytest.mark.parametrize("known", [["id"], ["id", "email"]])
def test_json_may_hold_more_than_its_schema_but_not_what_is_masked(
    registry: RegistryServer, body: bytes, known: list[str]
) -> None:
    properties = {name: {"type": ["null", "integer" if name == "id" else "string"]} for name in known}
    number = registry.add("topic-value", json.dumps({"type": "object", "properties": properties}), "JSON")
    assert b"ada@" not in masked(registry, framed(number, body), "email, id.email")
