"""What was worked out for a schema is worked out once, and never mixed up with another."""

from __future__ import annotations

import pickle
from dataclasses import replace

from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.schema_cache import SchemaCache

SCHEMA = Schema(Type.STRUCT, doc="0")


def doc_of(schema: Schema) -> list[str | None]:
    """A new object every time."""
    return [schema.doc]


def test_a_schema_is_worked_out_once() -> None:
    cache = SchemaCache(doc_of)
    assert cache.get(SCHEMA) is cache.get(SCHEMA)


def test_schemas_that_come_and_go_get_their_own_results() -> None:
    cache = SchemaCache(doc_of)
    for number in range(2000):
        schema = replace(SCHEMA, doc=str(number))
        assert cache.get(schema) == [str(number)]
        assert cache.get(schema) is cache.get(schema)
    assert len(cache._kept) == 256


def test_a_copy_in_another_process_starts_empty() -> None:
    cache = SchemaCache(doc_of)
    cache.get(SCHEMA)
    copied = pickle.loads(pickle.dumps(cache))
    assert copied._kept == {}
    assert copied.get(SCHEMA) == ["0"]
