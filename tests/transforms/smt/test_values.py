"""Values become the texts that Kafka Connect writes into headers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from heliograph.transforms.formats.logical import decimal_schema
from heliograph.transforms.schema import Field, Instant, Schema, Type
from heliograph.transforms.smt.values import header_bytes, text_of
from heliograph.transforms.struct import Struct

_FLOAT = Schema(Type.FLOAT32)
_STRUCT = Schema(Type.STRUCT, fields=(Field("a", _FLOAT), Field("b", Schema(Type.STRING, default="d"))))


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, "text", "text"),
        (None, 'a "quote"', 'a "quote"'),
        (None, ['a "quote"', "back\\slash"], r'["a \"quote\"","back\\slash"]'),
        (None, True, "true"),
        (None, Decimal("1.50"), "1.5"),
        (decimal_schema(2), Decimal("1.50"), "1.50"),
        (decimal_schema(-3), Decimal("2E+3"), "2E+3"),
        (None, 1e10, "1.0E10"),
        (_FLOAT, 0.10000000149011612, "0.1"),
        (None, b"\x00\xff", "AP8="),
        (None, [b"\x00\xff"], '["AP8="]'),
        (None, Instant(5), "00:00:00.005Z"),
        (None, Instant(86_400_000), "1970-01-02"),
        (None, Instant(86_400_001), "1970-01-02T00:00:00.001Z"),
        (None, {"a": None, "b": [Instant(0)]}, '{"a":null,"b":[00:00:00.000Z]}'),
        (_STRUCT, Struct(_STRUCT, {"a": 0.10000000149011612}), '{"a":0.1,"b":"d"}'),
        (Schema(Type.MAP, key_schema=Schema(Type.INT32), value_schema=_FLOAT), {1: 1e-7}, "{1:1.0E-7}"),
    ],
)
def test_a_value_as_text(schema: Schema | None, value: Any, text: str) -> None:
    assert text_of(schema, value) == text
    assert header_bytes(schema, value) == text.encode()


def test_null_is_no_text() -> None:
    assert header_bytes(None, None) is None


def test_what_utf8_cannot_write_becomes_a_question_mark() -> None:
    """As in Java."""
    assert header_bytes(None, "a\ud800b") == b"a?b"
