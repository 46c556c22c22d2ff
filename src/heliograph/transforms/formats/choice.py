"""Which format keys or values are in: what the configuration says, else found out for each record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from heliograph.config.secret import Secret
from heliograph.errors import DataError
from heliograph.transforms.formats import registered
from heliograph.transforms.formats.converters import (
    BYTES,
    ENVELOPE,
    NUMBER_CONVERTERS,
    PLAIN_JSON,
    TEXT,
    JsonFormat,
    NumberFormat,
    RegistryFormat,
    TextFormat,
    json_payload,
)
from heliograph.transforms.formats.json_envelope import (
    is_envelope,
    read_envelope,
    read_envelope_text,
    write_envelope,
)
from heliograph.transforms.formats.json_text import read_plain
from heliograph.transforms.formats.registered import Links, SchemaBook, WireFormat, book_of
from heliograph.transforms.formats.registry_settings import URL, source_registry, target_registry
from heliograph.transforms.message import Formats, Parsed

_FIND_OUT: Final = "ByteArrayConverter"
_CONVERTERS: Final = {
    "": _FIND_OUT,
    "org.apache.kafka.connect.converters.ByteArrayConverter": _FIND_OUT,
    "org.apache.kafka.connect.json.JsonConverter": "JsonConverter",
    "org.apache.kafka.connect.storage.StringConverter": "StringConverter",
    **{f"org.apache.kafka.connect.converters.{name}": name for name in NUMBER_CONVERTERS},
    "io.confluent.connect.avro.AvroConverter": "AvroConverter",
    "io.confluent.connect.protobuf.ProtobufConverter": "ProtobufConverter",
    "io.confluent.connect.json.JsonSchemaConverter": "JsonSchemaConverter",
}
_KINDS: Final = {
    "AvroConverter": registered.AVRO,
    "ProtobufConverter": registered.PROTOBUF,
    "JsonSchemaConverter": registered.JSON,
}


class RecordFormats:
    """How the keys, or the values, of a flow's records are read and written."""

    def __init__(self, settings: Mapping[str, str | Secret], is_key: bool) -> None:
        """Reads the converter's and the registry's settings; ValueError tells what is wrong with them."""
        self._settings = dict(settings)
        self._is_key = is_key
        self._side = "key" if is_key else "value"
        self._links = self._read_links()
        self._formats = self._chosen()

    def __reduce__(self) -> tuple[type[RecordFormats], tuple[dict[str, str | Secret], bool]]:
        return (RecordFormats, (self._settings, self._is_key))  # clients and schemas are made anew where it goes

    @property
    def translates(self) -> bool:
        """Whether also what no transform has changed must be `translated`: the target has a registry of its own."""
        is_registered = isinstance(self._formats, RegistryFormat | FoundOut)
        return is_registered and self._links is not None and self._links.source != self._links.target

    def read(self, topic: str, data: bytes) -> Parsed:
        """What the bytes say."""
        return self._formats.read(topic, data)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes of a value, in the format that it was read in; None for a tombstone."""
        return self._formats.write(topic, parsed)

    def translated(self, topic: str, data: bytes) -> bytes:
        """Bytes that nobody has changed, with the schema id that the target's registry has for them."""
        assert self._links is not None
        return book_of(self._links).translated(topic, self._is_key, data)

    def _chosen(self) -> Formats:
        key = f"{self._side}.converter"
        name = self._text(key)
        converter = _CONVERTERS.get(name) or (name if name in _CONVERTERS.values() else None)
        if converter is None:
            known = ", ".join(sorted(name for name in _CONVERTERS if name))
            raise ValueError(f"{key} must be one of {known}; not {name}")
        if converter in _KINDS:
            if self._links is None:
                raise ValueError(f"{key} needs the address of a schema registry: set {key}.{URL} or {URL}")
            return RegistryFormat(book_of(self._links), _KINDS[converter], self._is_key)
        return self._plain(converter)

    def _plain(self, converter: str) -> Formats:
        if converter == "JsonConverter":
            return JsonFormat(self._flag("schemas.enable", True), self._decimals_as_numbers())
        if converter == "StringConverter":
            return self._text_format()
        if converter in NUMBER_CONVERTERS:
            return NumberFormat(converter)
        return FoundOut(book_of(self._links) if self._links else None, self._is_key)

    def _read_links(self) -> Links | None:
        source = source_registry(self._settings, self._side)
        target = target_registry(self._settings)
        if source is None:
            if target is not None:
                raise ValueError(f"target.{URL} is set, but {URL} is not: where do the records' schemas come from?")
            return None
        return Links(source, target or source, self._flag("auto.register.schemas", True))

    def _text_format(self) -> TextFormat:
        key = f"{self._side}.converter.converter.encoding"
        try:
            return TextFormat(self._text(key) or "utf-8")
        except LookupError:
            raise ValueError(f"{key} is no encoding that is known here: {self._text(key)}") from None

    def _decimals_as_numbers(self) -> bool:
        key = f"{self._side}.converter.decimal.format"
        choice = self._text(key).upper() or "BASE64"
        if choice not in ("BASE64", "NUMERIC"):
            raise ValueError(f"{key} must be BASE64 or NUMERIC, not {choice}")
        return choice == "NUMERIC"

    def _flag(self, name: str, default: bool) -> bool:
        key = f"{self._side}.converter.{name}"
        text = self._text(key).lower() or str(default).lower()
        if text not in ("true", "false"):
            raise ValueError(f"{key} must be true or false, not {text}")
        return text == "true"

    def _text(self, key: str) -> str:
        value = self._settings.get(key, "")
        return (value.reveal() if isinstance(value, Secret) else value).strip()


class FoundOut:
    """No converter is named: each record is looked at, and written again as it was."""

    def __init__(self, book: SchemaBook | None, is_key: bool) -> None:
        self._book = book
        self._is_key = is_key

    def read(self, topic: str, data: bytes) -> Parsed:
        """What the bytes say: framed with a schema id, JSON with a schema, JSON, text, or just bytes."""
        if self._book is not None and data[:1] == b"\0":
            parsed = self._book.read(data)
            if parsed is not None:
                return parsed
        if data.startswith(b'{"schema":{'):
            try:
                return Parsed(*read_envelope_text(data), ENVELOPE)
            except DataError:
                pass  # perhaps it is no envelope; if it is one, the reason will be told below
        try:
            value = read_plain(data)
        except DataError:
            return _text_or_bytes(data)
        return Parsed(*read_envelope(value), ENVELOPE) if is_envelope(value) else Parsed(None, value, PLAIN_JSON)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes of a value in its format; what was text or bytes and is a map or list now becomes JSON."""
        schema, value, form = parsed
        if isinstance(form, WireFormat):
            return None if value is None else form.book.write(topic, self._is_key, parsed, form.kind)
        if value is None and schema is None:
            return None
        if form == ENVELOPE:
            return write_envelope(schema, value)
        if form == PLAIN_JSON:
            return json_payload(schema, value)
        return _plainly(parsed)


def _text_or_bytes(data: bytes) -> Parsed:
    if b"\0" not in data:
        try:
            return Parsed(None, data.decode(), TEXT)
        except UnicodeDecodeError:
            pass
    return Parsed(None, data, BYTES)


def _plainly(parsed: Parsed) -> bytes | None:
    value: Any = parsed.value
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise DataError("a text has characters that UTF-8 cannot write") from None
    return json_payload(parsed.schema, value)
