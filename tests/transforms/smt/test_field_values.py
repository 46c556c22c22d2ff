"""The values of a struct's fields, with or without the defaults of those that are null."""

from __future__ import annotations

import pytest

from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.field_values import FieldValues
from heliograph.transforms.struct import Struct

WITH_DEFAULT = Schema(Type.INT32, is_optional=True, default=5)
SCHEMA = Schema(Type.STRUCT, fields=tuple(Field(name, WITH_DEFAULT) for name in "abc"))
STRUCT = Struct(SCHEMA, {"a": 0, "b": None})


@pytest.mark.parametrize(("wanted", "expected"), [("true", {"a": 0, "b": 5, "c": 5}), ("false", {"a": 0, "b": None})])
def test_nulls_become_defaults_only_if_wanted(wanted: str, expected: dict[str, int | None]) -> None:
    assert FieldValues({"replace.null.with.default": wanted}).copied(STRUCT) == expected


def test_the_struct_itself_stays_as_it_is() -> None:
    FieldValues({"replace.null.with.default": "true"}).copied(STRUCT)["a"] = 9
    assert STRUCT.values == {"a": 0, "b": None}
