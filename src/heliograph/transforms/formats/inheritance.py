"""What a schema that a transform has made anew takes over from the one before: a field is still the same field.

Transforms know nothing of a field's number in Protobuf, or of Avro's properties. A text that was masked is still the
text with that number: without this, readers would look for it in vain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from heliograph.transforms.formats import avro_names, protobuf_names
from heliograph.transforms.schema import Schema, Type

_SAYS_NOTHING_OF_VALUES: Final = (
    protobuf_names.TAG,
    protobuf_names.TYPE,
    protobuf_names.WRAPPER,
    avro_names.FIELD_DEFAULT,
)


def inherited(schema: Schema, before: Schema) -> Schema:
    """The schema with what fields of the same name and type had in theirs before."""
    if schema is before or schema.type is not before.type:
        return schema
    if schema.type is Type.STRUCT:
        known = before.by_name
        fields = tuple(
            item._replace(schema=inherited(item.schema, known[item.name].schema)) if item.name in known else item
            for item in schema.fields
        )
        changed = replace(schema, fields=fields)
    elif schema.value_schema is not None and before.value_schema is not None:
        changed = replace(schema, value_schema=inherited(schema.value_schema, before.value_schema))
    else:
        changed = schema
    return replace(changed, parameters=before.parameters) if _may_inherit(schema, before) else changed


def _may_inherit(schema: Schema, before: Schema) -> bool:
    if schema.parameters or schema.name != before.name:
        return False
    return all(key in _SAYS_NOTHING_OF_VALUES or key.startswith(avro_names.AVRO_PROPERTY) for key in before.parameters)
