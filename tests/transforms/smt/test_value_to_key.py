"""ValueToKey beside Kafka's."""

from __future__ import annotations

import pytest

from heliograph.transforms.message import Message, Parsed, Side
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.value_to_key import ValueToKey
from heliograph.transforms.struct import Struct
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample

SCHEMA = Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32, is_optional=True, default=5)),))
SETTINGS = [
    {"fields": "a"},
    {"fields": "b,a"},
    {"fields": "a,a"},
    {"fields": "c,nested", "replace.null.with.default": "false"},
    {"fields": "i8,money,moment,nested,map"},
    {"fields": "nested.a"},
]


@pytest.mark.parametrize("key", [None, b'{"schema":null,"payload":"old"}'], ids=["no key", "a key"])
@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_makes_the_key_that_java_makes(
    java_oracle: JavaOracle, settings: dict[str, str], sample: Sample, key: bytes | None
) -> None:
    written = java_oracle.converted(sample.data, sample.converter)
    # Kafka writes the value anew, with defaults for nulls; here it keeps its bytes. So compare what both leave alone.
    record = OracleRecord(sample.data if isinstance(written, OracleError) else written, key)
    assert_same(java_oracle, "ValueToKey", settings, record, sample.converter, sample.converter)


@pytest.mark.parametrize(("wanted", "expected"), [("true", 5), ("false", None)])
def test_nulls_become_defaults_only_if_wanted(wanted: str, expected: int | None) -> None:
    to_key = new_stage("ValueToKey", {"fields": "a", "replace.null.with.default": wanted})
    assert isinstance(to_key, ValueToKey)
    message = new_message(OracleRecord(b"{}"))
    message.value.replace(SCHEMA, Struct(SCHEMA))
    assert to_key.apply(message).key.parsed("topic").value == Struct(SCHEMA, {"a": expected})


class TaggedFormats:
    """Reads one value whatever the bytes are, in a format of this name, and writes the name of the format."""

    def __init__(self, tag: str, parsed: Parsed) -> None:
        self._parsed = parsed._replace(format=tag)

    def read(self, topic: str, data: bytes) -> Parsed:
        """The value."""
        return self._parsed

    def write(self, topic: str, parsed: Parsed) -> bytes:
        """The name of the format."""
        return str(parsed.format).encode()


@pytest.mark.parametrize(
    "parsed", [Parsed(None, {"a": 1}), Parsed(SCHEMA, Struct(SCHEMA, {"a": 1}))], ids=["without schema", "with schema"]
)
def test_the_key_takes_the_format_of_the_value_which_keeps_its_bytes(parsed: Parsed) -> None:
    to_key = new_stage("ValueToKey", {"fields": "a"})
    assert isinstance(to_key, ValueToKey)
    key, value = (Side(tag.encode(), TaggedFormats(f"format of the {tag}", parsed)) for tag in ("key", "value"))
    message = to_key.apply(Message("topic", 0, None, key, value, [], "topic", 0))
    assert message.key.encoded("topic") == b"format of the value"
    assert message.value.encoded("topic") == b"value"


@pytest.mark.parametrize("settings", [{}, {"fields": ""}, {"fields": "a,"}], ids=str)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "ValueToKey", settings, OracleRecord(b'{"a":1}'))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"
