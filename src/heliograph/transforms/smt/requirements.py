"""What transforms ask of the values that they get; `DataError` says which one, and never what the value is."""

from __future__ import annotations

from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.schema import Instant
from heliograph.transforms.struct import Struct

Map = dict[str, Any]

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (str, "text"),
    (bytes, "bytes"),
    (list, "a list"),
    (dict, "an object without a schema"),
    (Struct, "an object with a schema"),
    (Instant, "a date or time"),
)


def kind_of(value: Any) -> str:
    """What a value is, in words that do not tell the value."""
    if value is None:
        return "null"
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "a number")


def require_map(value: Any, what: str) -> Map:
    """The fields of a value without a schema; `what` names the transform and the value."""
    if isinstance(value, dict):
        return value
    raise DataError(f"{what} must be an object to have fields, but it is {kind_of(value)}")


def require_map_or_null(value: Any, what: str) -> Map | None:
    """The same for a value that may be missing."""
    return None if value is None else require_map(value, what)


def require_struct(value: Any, what: str) -> Struct:
    """The fields of a value with a schema; `what` names the transform and the value."""
    if isinstance(value, Struct):
        return value
    raise DataError(f"{what} must be a struct to have fields, but it is {kind_of(value)}")


def require_struct_or_null(value: Any, what: str) -> Struct | None:
    """The same for a value that may be missing."""
    return None if value is None else require_struct(value, what)
