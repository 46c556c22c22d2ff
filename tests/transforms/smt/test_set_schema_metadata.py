"""SetSchemaMetadata does as Java's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleRecord
from tests.transforms.samples import INT32, OPTIONAL, TEXT, array_of, envelope, map_of, plain, struct_of

_STRUCT = struct_of({"a": INT32 | {"default": 5}, "b": struct_of({"c": TEXT}, name="inner")})
_NAMED = {**_STRUCT, "name": "old", "version": 3, "doc": "d", "parameters": {"p": "q"}}
_PAYLOAD = {"a": 1, "b": {"c": "x"}}


@pytest.mark.parametrize(
    "settings",
    [
        {"schema.name": "new"},
        {"schema.version": "7"},
        {"schema.name": "new", "schema.version": "7"},
        {"schema.name": ""},
        {"schema.name": " n "},
        {"schema.version": " -7 "},
        {"schema.version": "x"},
        {"schema.version": ""},
        {"schema.version": "99999999999"},
        {"schema.name": "new", "replace.null.with.default": "false"},
        {},
    ],
)
@pytest.mark.parametrize("schema", [_STRUCT, _NAMED, _NAMED | OPTIONAL, _NAMED | {"default": _PAYLOAD}])
def test_schemas_are_labelled_as_by_java(
    java_oracle: JavaOracle, settings: dict[str, str], schema: dict[str, Any]
) -> None:
    for payload in (_PAYLOAD, {"b": {"c": ""}}, None):
        data = envelope(schema, payload)
        for side, record in (("Key", OracleRecord(None, data)), ("Value", OracleRecord(data))):
            converters = ("json-schemas", "json-schemas")
            assert_same(java_oracle, f"SetSchemaMetadata${side}", settings, record, *converters)


@pytest.mark.parametrize(
    "data",
    [
        envelope(INT32, 5),
        envelope(array_of(INT32), [5]),
        envelope(map_of(INT32), {"a": 5}),
        envelope(TEXT | OPTIONAL, None),
        envelope(None, 5),
        envelope(None, None),
        None,
    ],
)
def test_other_types_and_no_schema(java_oracle: JavaOracle, data: bytes | None) -> None:
    record = OracleRecord(data)
    assert_same(java_oracle, "SetSchemaMetadata$Value", {"schema.name": "n"}, record, "json", "json-schemas")


@pytest.mark.parametrize("data", [plain({"a": 1}), b"null", None, b"5"])
def test_values_without_a_schema(java_oracle: JavaOracle, data: bytes | None) -> None:
    assert_same(java_oracle, "SetSchemaMetadata$Value", {"schema.name": "n"}, OracleRecord(data))
    assert_same(java_oracle, "SetSchemaMetadata$Key", {"schema.name": "n"}, OracleRecord(b"{}", data))


@pytest.mark.parametrize("converter", ["string", "bytes"])
def test_strings_and_bytes(java_oracle: JavaOracle, converter: str) -> None:
    record = OracleRecord(b"12")
    assert_same(java_oracle, "SetSchemaMetadata$Value", {"schema.name": "n"}, record, "json", converter)
