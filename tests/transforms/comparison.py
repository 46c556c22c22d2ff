"""Our transforms and predicates beside Kafka's own: the same records in, and both must answer the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.catalogue import KAFKA_PREDICATES, KAFKA_PREDICATES_PACKAGE, make_predicate, make_transform
from heliograph.transforms.formats.converters import JsonFormat, TextFormat
from heliograph.transforms.java_numbers import to_float32
from heliograph.transforms.message import Formats, Header, Message, Parsed, Side
from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.stage import Predicate, Transform
from heliograph.transforms.stage_settings import checked_settings
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord


class _BytesFormat:
    """Kafka's `ByteArrayConverter`."""

    def read(self, topic: str, data: bytes) -> Parsed:
        """The bytes themselves."""
        return Parsed(Schema(Type.BYTES, is_optional=True), data)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes themselves."""
        if parsed.value is None or isinstance(parsed.value, bytes):
            return parsed.value
        raise DataError("not bytes")


FORMATS: dict[str, Formats] = {
    "json": JsonFormat(has_schemas=False, decimals_as_numbers=False),
    "json-schemas": JsonFormat(has_schemas=True, decimals_as_numbers=False),
    "json-schemas-numeric": JsonFormat(has_schemas=True, decimals_as_numbers=True),
    "string": TextFormat("utf-8"),
    "bytes": _BytesFormat(),
}  # by the names that the oracle has for its converters

_FLOAT_TEXT = re.compile(rb"-?\d\.\d+E-?\d+")


def assert_same(
    oracle: JavaOracle,
    class_name: str,
    settings: Mapping[str, str],
    record: OracleRecord,
    key_converter: str = "json",
    value_converter: str = "json",
) -> OracleRecord | OracleError | None:
    """Run a transform here and in Java on one record and compare; what Java said, for further questions."""
    java = oracle.apply(class_name, settings, record, key_converter, value_converter)
    converters = (key_converter, value_converter)
    ours = _outcome(class_name, settings, record, converters)
    if isinstance(java, OracleError):
        expected = ValueError if java.step == "configure" else DataError
        assert isinstance(ours, expected), f"Java fails with {java}, we give {_shown(ours)}"
    elif java is None:
        assert ours is None
    else:
        assert isinstance(ours, Message), f"we fail with {ours!r}, Java gives {java}"
        _assert_same_record(_encoded(ours), java, converters)
    return java


def assert_same_predicate(
    oracle: JavaOracle, class_name: str, settings: Mapping[str, str], record: OracleRecord
) -> bool | OracleError:
    """The same for a predicate."""
    java = oracle.predicate(class_name, settings, record)
    assert _verdict(class_name, settings, record) == (None if isinstance(java, OracleError) else java)
    return java


def new_stage(class_name: str, settings: Mapping[str, str]) -> Transform | Predicate:
    """One of our own classes by the name of Java's, configured; ValueError if it refuses the settings."""
    is_predicate = class_name.removeprefix(KAFKA_PREDICATES_PACKAGE) in {made.__name__ for made in KAFKA_PREDICATES}
    stage = make_predicate(class_name) if is_predicate else make_transform(class_name)
    stage.configure(checked_settings(stage.OPTIONS, settings))
    return stage


def new_message(record: OracleRecord, key_converter: str = "json", value_converter: str = "json") -> Message:
    """The record as our transforms take it."""
    key, value = Side(record.key, FORMATS[key_converter]), Side(record.value, FORMATS[value_converter])
    headers = [Header(*header) for header in record.headers]
    partition = -1 if record.partition is None else record.partition
    return Message(record.topic, partition, record.timestamp, key, value, headers, record.topic, 0)


def _outcome(
    class_name: str, settings: Mapping[str, str], record: OracleRecord, converters: tuple[str, str]
) -> Message | Exception | None:
    try:
        transform = new_stage(class_name, settings)
        assert isinstance(transform, Transform)
        message = transform.apply(new_message(record, *converters))
        if message is not None:
            _encoded(message)
    except (ValueError, DataError) as error:
        return error
    return message


def _verdict(class_name: str, settings: Mapping[str, str], record: OracleRecord) -> bool | None:
    try:
        predicate = new_stage(class_name, settings)
        assert isinstance(predicate, Predicate)
        return predicate.test(new_message(record))
    except (ValueError, DataError):
        return None


def _shown(outcome: Message | Exception | None) -> Any:
    return _encoded(outcome)[0] if isinstance(outcome, Message) else outcome


def _encoded(message: Message) -> tuple[OracleRecord, tuple[bool, bool]]:
    key, value = (side.encoded(message.topic) for side in (message.key, message.value))
    partition = None if message.partition < 0 else message.partition
    headers = tuple((header.name, header.value) for header in message.headers)
    record = OracleRecord(value, key, headers, message.topic, partition, message.timestamp)
    return record, (message.key.is_changed, message.value.is_changed)


def _assert_same_record(
    ours_and_changes: tuple[OracleRecord, tuple[bool, bool]], java: OracleRecord, converters: tuple[str, str]
) -> None:
    ours, changes = ours_and_changes
    for side, converter, is_changed in zip(("key", "value"), converters, changes, strict=True):
        found, expected = getattr(ours, side), getattr(java, side)
        assert comparable(found, converter, is_changed) == comparable(expected, converter, is_changed), side
    written = tuple(map(_as_newer_java, ours.headers, java.headers)) if len(ours.headers) == len(java.headers) else None
    expected_headers = java.headers if written is None else written
    assert ours._replace(key=None, value=None) == java._replace(key=None, value=None, headers=expected_headers)


def _as_newer_java(ours: tuple[str, bytes | None], java: tuple[str, bytes | None]) -> tuple[str, bytes | None]:
    """Java's header, with floats as Java 19 and later write them: with no more digits than they need.

    Older versions write 3.00300288E9 for the float 3.003003E9 (JDK-4511638).
    """
    if ours[1] is None or java[1] is None:
        return java
    shorter = iter(_FLOAT_TEXT.findall(ours[1]))
    return java[0], _FLOAT_TEXT.sub(lambda found: _shorter(next(shorter, b""), found[0]), java[1])


def _shorter(ours: bytes, java: bytes) -> bytes:
    is_same = bool(ours) and to_float32(float(ours)) == to_float32(float(java))
    return ours if is_same and len(ours) < len(java) else java


def comparable(data: bytes | None, converter: str, is_ordered: bool = True) -> Any:
    """What a converter's bytes say, without what makes no difference: spaces, the order in maps, texts of floats."""
    if data is None or not converter.startswith("json"):
        return data
    node = json.loads(data, parse_float=_float)
    if converter == "json" or node is None:
        return _strict(node)
    schema, payload = node["schema"], node["payload"]
    if schema is None:
        return None if payload is None else _strict(payload)
    return _comparable_schema(schema), _comparable_payload(schema, payload, is_ordered)


def _or_default(schema: dict[str, Any], item: Any) -> Any:
    return schema.get("default") if item is None else item


def _float(text: str) -> Any:
    return "float", float(text)


def _strict(node: Any) -> Any:
    """Python thinks that true is 1."""
    if isinstance(node, dict):
        return {name: _strict(item) for name, item in node.items()}
    if isinstance(node, list):
        return list(map(_strict, node))
    return ("bool", node) if isinstance(node, bool) else node


def _comparable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    found = {name: item for name, item in schema.items() if item is not None}
    found["optional"] = schema.get("optional") is True
    for part in ("items", "keys", "values"):
        if part in found:
            found[part] = _comparable_schema(found[part])
    if "fields" in found:
        found["fields"] = list(map(_comparable_schema, found["fields"]))
    if "default" in found:
        found["default"] = _comparable_payload(schema, found["default"], is_ordered=True)
    return found


def _comparable_payload(schema: dict[str, Any], payload: Any, is_ordered: bool) -> Any:
    kind = schema["type"]
    if payload is None:
        return None
    if kind == "struct":
        schemas = {field["field"]: field for field in schema["fields"]}
        if not is_ordered:
            payload = {name: _or_default(part, payload.get(name)) for name, part in schemas.items()}
        return [(name, _comparable_payload(schemas[name], item, is_ordered)) for name, item in payload.items()]
    if kind == "array":
        return [_comparable_payload(schema["items"], item, is_ordered) for item in payload]
    if kind == "map":
        pairs = list(payload.items() if isinstance(payload, dict) else payload)
        found = [(name, _comparable_payload(schema["values"], item, is_ordered)) for name, item in pairs]
        return sorted(found, key=repr)
    if kind == "float" and isinstance(payload, tuple):
        return to_float32(payload[1])
    return _strict(payload)
