"""The primitive types of Kafka's protocol that MirrorMaker 2 builds its records from."""

from __future__ import annotations

from heliograph.errors import MalformedRecord

INT16, INT32, INT64 = 2, 4, 8
_LONGEST_TEXT = 2**15 - 1


def encode_number(value: int, size: int) -> bytes:
    """A signed number of so many bytes."""
    return value.to_bytes(size, "big", signed=True)


def encode_text(text: str) -> bytes:
    """UTF-8 behind its length."""
    data = text.encode()
    if len(data) > _LONGEST_TEXT:
        raise MalformedRecord(f"a text of {len(data)} bytes is too long, {_LONGEST_TEXT} is the most")
    return encode_number(len(data), INT16) + data


class Fields:
    """Reads one field after the other; `what` says in errors whose fields they are."""

    def __init__(self, what: str, data: bytes | None) -> None:
        if data is None:
            raise MalformedRecord(f"{what} is missing")
        self._what = what
        self._data = data
        self._position = 0

    def number(self, size: int) -> int:
        """The next field, a signed number of so many bytes."""
        return int.from_bytes(self._take(size), "big", signed=True)

    def text(self) -> str:
        """The next field, a text."""
        length = self.number(INT16)
        if length < 0:
            raise MalformedRecord(f"{self._what} holds a text of length {length}")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise MalformedRecord(f"{self._what} holds a text that is not UTF-8") from None

    def expect_version(self, known: int) -> None:
        """The next field, which must be the version that we know."""
        version = self.number(INT16)
        if version != known:
            raise MalformedRecord(f"{self._what} is of version {version}, only {known} is known")

    def expect_end(self) -> None:
        """Nothing may follow the last field."""
        rest = len(self._data) - self._position
        if rest:
            raise MalformedRecord(f"{self._what} has {rest} bytes too many")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise MalformedRecord(f"{self._what} ends too early: {len(self._data)} bytes")
        self._position += size
        return taken
