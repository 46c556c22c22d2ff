"""New struct schemas, with what Kafka Connect keeps of the old one and refuses in any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from heliograph.errors import DataError
from heliograph.transforms.schema import Field, Schema, Type


def struct_schema(fields: Iterable[Field], who: str, like: Schema | None = None) -> Schema:
    """A required struct of these fields; name, version, doc and parameters are those of another schema, if given."""
    taken = tuple(fields)
    names: set[str] = set()
    for field in taken:
        if not field.name:
            raise DataError(f"{who}: a field of a value with a schema cannot have an empty name")
        if field.name in names:
            raise DataError(f"{who}: there would be two fields {field.name!r}")
        names.add(field.name)
    if like is None:
        return Schema(Type.STRUCT, fields=taken)
    return replace(like, type=Type.STRUCT, is_optional=False, default=None, fields=taken)
