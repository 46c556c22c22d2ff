"""A record on its way through transforms: bytes, until somebody asks what they say."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from heliograph.transforms.schema import Schema


class Parsed(NamedTuple):
    """What bytes say: a value, its schema where there is one, and the format that they are written in."""

    schema: Schema | None
    value: Any
    format: Any = None  # whatever the formats need to write it again as it was read


class Formats(Protocol):
    """How keys or values are read and written; `DataError` if that cannot be done."""

    def read(self, topic: str, data: bytes) -> Parsed:
        """What the bytes say."""

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes of a value, in the format that it was read in; None for a tombstone."""


@runtime_checkable
class ForeignFormats(Formats, Protocol):
    """Formats whose bytes may mean something else on the target."""

    @property
    def translates(self) -> bool:
        """Whether also what nobody has changed must be `translated`: the target has a registry of its own."""

    def translated(self, topic: str, data: bytes) -> bytes:
        """Bytes that nobody has changed, as they must be on the target."""


class Side:
    """The key or the value of a message: parsed when first needed, encoded again only if it was changed."""

    __slots__ = ("_data", "_formats", "_is_changed", "_parsed")

    def __init__(self, data: bytes | None, formats: Formats) -> None:
        self._data = data
        self._formats = formats
        self._parsed: Parsed | None = None
        self._is_changed = False

    @property
    def is_null(self) -> bool:
        """Whether there is none; a value that is null in its format, such as JSON's, is there."""
        return self._parsed is not None and self._parsed.value is None if self._is_changed else self._data is None

    @property
    def is_changed(self) -> bool:
        """Whether it is not the bytes any more that it began with."""
        return self._is_changed

    @property
    def raw_bytes(self) -> bytes | None:
        """The bytes that it began with, while they still count; None for none, and once it was changed."""
        return None if self._is_changed else self._data

    def parsed(self, topic: str) -> Parsed:
        """What it says. Not to be changed in place: `replace` it."""
        if self._parsed is None:
            self._parsed = Parsed(None, None) if self._data is None else self._formats.read(topic, self._data)
        return self._parsed

    def replace(self, schema: Schema | None, value: Any, like: Side | None = None) -> None:
        """Another value instead; it is written in the format of what was there, or of another side."""
        self._parsed = Parsed(schema, value, (like or self).format)
        self._is_changed = True

    @property
    def format(self) -> Any:
        """The format that it was read in, if it was; what that is, only the formats know."""
        return self._parsed.format if self._parsed else None

    def replace_bytes(self, data: bytes | None) -> None:
        """Other bytes instead, whatever they say."""
        self._data, self._parsed, self._is_changed = data, None, False

    def encoded(self, topic: str) -> bytes | None:
        """The bytes that it leaves with."""
        if self._is_changed:
            assert self._parsed is not None
            return self._formats.write(topic, self._parsed)
        return self._data


class Header(NamedTuple):
    """One header; names may come up several times."""

    name: str
    value: bytes | None


class Message:
    """One record, as transforms see and change it."""

    __slots__ = ("headers", "key", "offset", "partition", "source_topic", "timestamp", "topic", "value")

    def __init__(
        self,
        topic: str,
        partition: int,
        timestamp: int | None,
        key: Side,
        value: Side,
        headers: list[Header],
        source_topic: str,
        offset: int,
    ) -> None:
        self.topic = topic  # on the target
        self.partition = partition
        self.timestamp = timestamp  # ms
        self.key = key
        self.value = value
        self.headers = headers
        self.source_topic = source_topic
        self.offset = offset  # on the source
