"""Values in Confluent's wire format: which schema they have, in which registry, and how they are written again."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats import failures, wire
from heliograph.transforms.formats.avro import AvroCodec, new_avro
from heliograph.transforms.formats.codec import Codec, StoredSchema
from heliograph.transforms.formats.failures import FailureBook
from heliograph.transforms.formats.inheritance import inherited
from heliograph.transforms.formats.json_schema import JsonSchemaCodec, new_json_schema
from heliograph.transforms.formats.registry import Registry, registry_of
from heliograph.transforms.formats.registry_settings import RegistrySettings
from heliograph.transforms.message import Parsed
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache

AVRO: Final = "AVRO"
PROTOBUF: Final = "PROTOBUF"
JSON: Final = "JSON"
_MOST_UNKNOWN: Final = 10_000
_MOST_WRITERS: Final = 10_000
_MOST_MADE: Final = 100  # of one subject: transforms that make an equal schema for every record need not register it


class Links(NamedTuple):
    """The registries of a flow; both are the same unless the target has its own."""

    source: RegistrySettings
    target: RegistrySettings
    registers: bool = True  # whether new schemas are registered, or must be there already


class WireFormat:
    """What a value was written with: compared by identity, since there is one per schema and process."""

    __slots__ = ("book", "codec", "kind", "number", "stored")

    def __init__(self, book: SchemaBook, number: int, stored: StoredSchema, codec: Codec) -> None:
        self.book = book
        self.number = number
        self.stored = stored
        self.kind = stored.kind
        self.codec = codec


class _Writer(NamedTuple):
    prefix: bytes
    encode: Callable[[Any], bytes]


class SchemaBook:
    """All schemas of a flow that were met so far."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._stored: dict[int, StoredSchema] = {}
        self._unknown: dict[int, float] = {}
        self._formats: dict[tuple[int, tuple[int, ...]], WireFormat] = {}
        self._failures = FailureBook()
        self._prefixes: dict[tuple[str, int], bytes] = {}
        self._writers: dict[tuple[str, WireFormat | str], SchemaCache[_Writer]] = {}
        self._made: dict[tuple[str, str], list[tuple[Schema, _Writer]]] = {}

    @property
    def translates(self) -> bool:
        """Whether ids are others on the target."""
        return self._links.source != self._links.target

    def read(self, data: bytes, kind: str | None = None) -> Parsed | None:
        """What framed bytes say; None if they are not framed, or the registry does not know their id."""
        number = wire.schema_id(data)
        stored = self._by_id(number) if number is not None else None
        if number is None or stored is None:
            return None
        if kind is not None and stored.kind != kind:
            raise DataError(f"the schema {number} is {stored.kind}, but the converter is for {kind}")
        indexes, at = wire.read_indexes(data) if stored.kind == PROTOBUF else ((), wire.PREFIX_BYTES)
        found = self._formats.get((number, indexes)) or self._format(number, stored, indexes)
        return Parsed(*found.codec.decode(data, at), found)

    def write(self, topic: str, is_key: bool, parsed: Parsed, kind: str) -> bytes:
        """The bytes of a value; a schema that a transform has made is registered first."""
        known = self._known(parsed.format, kind)
        subject = _subject(topic, is_key)
        if parsed.schema is None:
            if known is None:
                raise DataError(f"a value without a schema cannot be written as {kind}")
            return self._prefix(subject, known) + known.codec.encode(parsed.value)
        writers = self._writers.get((subject, known or kind)) or self._new_writers(subject, known, kind)
        writer = writers.get(parsed.schema)
        return writer.prefix + writer.encode(parsed.value)

    def translated(self, topic: str, is_key: bool, data: bytes) -> bytes:
        """The same bytes with the id that their schema has on the target."""
        number = wire.schema_id(data)
        stored = self._by_id(number) if number is not None else None
        if number is None or stored is None:
            return data
        return self._target_prefix(_subject(topic, is_key), number, stored) + data[wire.PREFIX_BYTES :]

    def unknown_id(self, data: bytes) -> DataError:
        """Why bytes cannot be read that should be framed."""
        number = wire.schema_id(data)
        if number is None:
            return DataError("the bytes do not begin with a schema id")
        return DataError(f"the schema registry does not know the schema id {number}")

    @property
    def _source(self) -> Registry:
        return registry_of(self._links.source)

    @property
    def _target(self) -> Registry:
        return registry_of(self._links.target)

    def _by_id(self, number: int) -> StoredSchema | None:
        found = self._stored.get(number)
        if found is not None:
            return found
        asked = self._unknown.get(number)
        if asked is not None and time.monotonic() - asked < failures.FORGET_SECONDS:
            return None
        found = self._source.by_id(number)
        if found is None:
            if len(self._unknown) >= _MOST_UNKNOWN:
                self._unknown.clear()
            self._unknown[number] = time.monotonic()
        else:
            self._stored[number] = found
        return found

    def _format(self, number: int, stored: StoredSchema, indexes: tuple[int, ...]) -> WireFormat:
        with self._failures.attempt((number, indexes)):
            try:
                codec = _codec(stored, self._references(stored), indexes)
            except RetryLater:
                raise
            except DataError as error:
                raise DataError(f"schema {number}: {error}") from None
        self._formats[number, indexes] = found = WireFormat(self, number, stored, codec)
        return found

    def _references(self, stored: StoredSchema) -> dict[str, str]:
        """The texts of all schemas that one builds on, by the names that they are imported by, the deepest first."""
        texts: dict[str, str] = {}
        for reference in stored.references:
            if reference.name not in texts:
                referenced = self._source.by_version(reference)
                texts |= self._references(referenced)
                texts[reference.name] = referenced.text
        return texts

    def _new_writers(self, subject: str, known: WireFormat | None, kind: str) -> SchemaCache[_Writer]:
        if len(self._writers) >= _MOST_WRITERS:
            self._writers.clear()

        def make(schema: Schema) -> _Writer:
            with self._failures.attempt((subject, kind, id(schema)), held=schema):
                return self._writer(subject, known, kind, schema)

        self._writers[subject, known or kind] = writers = SchemaCache(make)
        return writers

    def _writer(self, subject: str, known: WireFormat | None, kind: str, schema: Schema) -> _Writer:
        if known is not None and known.codec.schema is not None:
            schema = inherited(schema, known.codec.schema)
            if schema == known.codec.schema:
                return _Writer(self._prefix(subject, known), known.codec.encode)
        made = self._made.setdefault((subject, kind), [])
        found = next((writer for other, writer in made if other == schema), None)
        if found is None:
            stored, codec = _new(kind, schema)
            found = _Writer(wire.prefix(self._register(subject, stored)), codec.encode)
            made.append((schema, found))
            del made[:-_MOST_MADE]
        return found

    def _known(self, form: Any, kind: str) -> WireFormat | None:
        return form if isinstance(form, WireFormat) and form.book is self and form.kind == kind else None

    def _prefix(self, subject: str, known: WireFormat) -> bytes:
        if self.translates:
            return self._target_prefix(subject, known.number, known.stored)
        return wire.prefix(known.number)

    def _target_prefix(self, subject: str, number: int, stored: StoredSchema) -> bytes:
        found = self._prefixes.get((subject, number))
        if found is None:
            with self._failures.attempt((subject, number)):
                number_there = self._register(subject, self._moved(stored))
            self._prefixes[subject, number] = found = wire.prefix(number_there)
        return found

    def _register(self, subject: str, stored: StoredSchema) -> int:
        if self._links.registers:
            return self._target.register(subject, stored)
        return int(self._target.look_up(subject, stored)["id"])

    def _moved(self, stored: StoredSchema) -> StoredSchema:
        """A schema as the target's registry knows it: what it refers to has other versions there."""
        references = []
        for reference in stored.references:
            referenced = self._moved(self._source.by_version(reference))
            self._register(reference.subject, referenced)
            version = int(self._target.look_up(reference.subject, referenced)["version"])
            references.append(reference._replace(version=version))
        return stored._replace(references=tuple(references))


@lru_cache(maxsize=16)
def book_of(links: Links) -> SchemaBook:
    """The one book for these registries in this process: keys and values share it."""
    return SchemaBook(links)


def _subject(topic: str, is_key: bool) -> str:
    return f"{topic}-{'key' if is_key else 'value'}"


def _codec(stored: StoredSchema, references: dict[str, str], indexes: tuple[int, ...]) -> Codec:
    if stored.kind == AVRO:
        return AvroCodec.of_text(stored.text, tuple(references.values()))
    if stored.kind == PROTOBUF:
        from heliograph.transforms.formats.protobuf import ProtobufCodec  # few flows need Google's libraries

        return ProtobufCodec(stored.text, references, indexes)
    if stored.kind == JSON:
        return JsonSchemaCodec.of_text(stored.text)
    raise DataError(f"schemas of the kind {stored.kind} are not supported")


def _new(kind: str, schema: Schema) -> tuple[StoredSchema, Codec]:
    if kind == AVRO:
        return new_avro(schema)
    if kind == PROTOBUF:
        from heliograph.transforms.formats.protobuf import new_protobuf

        return new_protobuf(schema)
    return new_json_schema(schema)
