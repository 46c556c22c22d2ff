"""The record that transforms in Python see and change."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.headers import Headers
from heliograph.transforms.message import Message, Side
from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.struct import Struct


class Record:
    """One record on its way: look at it, set what shall be different, return it.

    Nothing of a change reaches the message before `finish`, so that one which failed half-way leaves no trace. Parsed
    values may be changed in place; what was only looked at keeps its bytes.
    """

    __slots__ = ("_headers", "_key", "_message", "_value", "partition", "timestamp", "topic")

    def __init__(self, message: Message) -> None:
        self._message = message
        self.topic = message.topic  # on the target
        self.partition = message.partition
        self.timestamp = message.timestamp  # ms since 1970; None if it has none
        self._key = _Part(message.key, message.topic)
        self._value = _Part(message.value, message.topic)
        self._headers: Headers | None = None

    @property
    def source_topic(self) -> str:
        """The topic that the record comes from."""
        return self._message.source_topic

    @property
    def source_offset(self) -> int:
        """Its offset there."""
        return self._message.offset

    @property
    def key(self) -> Any:
        """What the key says: dict, list, str, int, float, bool, bytes, `Struct` where it has a schema, or None."""
        return self._key.get()

    @key.setter
    def key(self, value: Any) -> None:
        self._key.set(value)

    @property
    def value(self) -> Any:
        """What the value says: dict, list, str, int, float, bool, bytes, `Struct` where it has a schema, or None."""
        return self._value.get()

    @value.setter
    def value(self, value: Any) -> None:
        self._value.set(value)

    @property
    def key_bytes(self) -> bytes | None:
        """The bytes of the key, as it is now."""
        return self._key.data()

    @key_bytes.setter
    def key_bytes(self, data: bytes | None) -> None:
        self._key.set_data(data)

    @property
    def value_bytes(self) -> bytes | None:
        """The bytes of the value, as it is now; None for a tombstone."""
        return self._value.data()

    @value_bytes.setter
    def value_bytes(self, data: bytes | None) -> None:
        self._value.set_data(data)

    @property
    def headers(self) -> Headers:
        """The headers, to be changed in place."""
        if self._headers is None:
            self._headers = Headers(self._message.headers)
        return self._headers

    @headers.setter
    def headers(self, headers: Headers) -> None:
        if not isinstance(headers, Headers):
            raise TypeError(f"headers must be Headers, not {type(headers).__name__}")
        self._headers = headers

    def is_of(self, message: Message) -> bool:
        """Whether this record was made of that message."""
        return self._message is message

    def finish(self) -> Message:
        """The message with all changes; DataError if one of them cannot be."""
        message = self._message
        self._check()
        key, value = self._key.finished(), self._value.finished()
        message.key, message.value = key, value
        message.topic, message.partition, message.timestamp = self.topic, self.partition, self.timestamp
        if self._headers is not None:
            message.headers = list(self._headers)
        return message

    def _check(self) -> None:
        if not isinstance(self.topic, str) or not self.topic:
            raise DataError("the topic of a record must be a name")
        if type(self.partition) is not int or self.partition < 0:
            raise DataError("the partition of a record must be a whole number, 0 or more")
        if self.timestamp is not None and type(self.timestamp) is not int:
            raise DataError("the timestamp of a record must be a whole number of milliseconds, or None")

    def __repr__(self) -> str:
        return f"Record(source_topic={self.source_topic!r}, source_offset={self.source_offset}, topic={self.topic!r})"


class _Part:
    """The key or the value, in a copy of its own as soon as it may be changed."""

    __slots__ = ("_before", "_mine", "_side", "_topic")

    def __init__(self, side: Side, topic: str) -> None:
        self._side = side
        self._topic = topic
        self._mine: Side | None = None
        self._before: bytes | None = None  # how a container was written before it was handed out

    def get(self) -> Any:
        side = self._mine or self._side
        value = side.parsed(self._topic).value
        if self._mine is not None or not isinstance(value, dict | list | Struct):
            return value
        return self._handed_out(side)

    def set(self, value: Any) -> None:
        if value is None:
            self.set_data(None)
            return
        mine = self._own()
        with suppress(DataError):  # only to know its format, and it may have none
            mine.parsed(self._topic)
        mine.replace(_schema_for(mine, self._topic, value), value)
        self._before = None

    def data(self) -> bytes | None:
        return self.finished().encoded(self._topic)

    def set_data(self, data: bytes | None) -> None:
        if not isinstance(data, bytes | None):
            raise TypeError(f"expected bytes or None, not {type(data).__name__}")
        self._own().replace_bytes(data)
        self._before = None

    def finished(self) -> Side:
        """The side as it leaves: the old one with its very bytes, if the same would be written."""
        if self._mine is None:
            return self._side
        if self._before is not None and self._mine.encoded(self._topic) == self._before:
            return self._side
        return self._mine

    def _own(self) -> Side:
        if self._mine is None:
            self._mine = copy.copy(self._side)
        return self._mine

    def _handed_out(self, side: Side) -> Any:
        """A container that belongs to the caller alone."""
        schema, value, _ = side.parsed(self._topic)
        mine = self._own()
        mine.replace(schema, _copied(value))
        if not side.is_changed:
            self._before = mine.encoded(self._topic)
        return mine.parsed(self._topic).value


def _schema_for(side: Side, topic: str, value: Any) -> Schema | None:
    """The schema of a new value: its own, or that of what was there if it may still fit."""
    if isinstance(value, Struct):
        return value.schema
    with suppress(DataError):
        schema = side.parsed(topic).schema
        return schema if schema is not None and schema.type is not Type.STRUCT else None
    return None


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, Struct):
        return Struct(value.schema, _copied(value.values))
    return value
