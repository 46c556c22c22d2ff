"""What transforms ask of values; a refusal says what kind of value it is, and never the value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from heliograph.errors import DataError
from heliograph.transforms.schema import Instant, Schema, Type
from heliograph.transforms.smt.requirements import (
    kind_of,
    require_map,
    require_map_or_null,
    require_struct,
    require_struct_or_null,
)
from heliograph.transforms.struct import Struct

STRUCT = Struct(Schema(Type.STRUCT))
KINDS: list[tuple[Any, str]] = [
    (None, "null"),
    ("secret", "text"),
    (b"secret", "bytes"),
    (True, "true or false"),
    (4711, "a number"),
    (47.11, "a number"),
    (Decimal("47.11"), "a number"),
    (Instant(4711), "a date or time"),
    (["secret"], "a list"),
    ({"secret": 1}, "an object without a schema"),
    (STRUCT, "an object with a schema"),
]


@pytest.mark.parametrize(("value", "words"), KINDS)
def test_every_kind_has_a_name(value: Any, words: str) -> None:
    assert kind_of(value) == words


def test_what_is_asked_for_passes() -> None:
    fields = {"a": 1}
    assert require_map(fields, "X") is require_map_or_null(fields, "X") is fields
    assert require_struct(STRUCT, "X") is require_struct_or_null(STRUCT, "X") is STRUCT
    assert require_map_or_null(None, "X") is None
    assert require_struct_or_null(None, "X") is None


@pytest.mark.parametrize(("value", "words"), KINDS[:-2])
@pytest.mark.parametrize("require", [require_map, require_struct])
def test_anything_else_is_refused_without_a_word_of_it(require: Any, value: Any, words: str) -> None:
    with pytest.raises(DataError, match=f"^Transform: the value must be .* but it is {words}$") as caught:
        require(value, "Transform: the value")
    assert not any(part in str(caught.value) for part in ("secret", "4711", "47.11"))


def test_one_kind_of_object_is_not_the_other() -> None:
    with pytest.raises(DataError):
        require_map(STRUCT, "X")
    with pytest.raises(DataError):
        require_struct({}, "X")
