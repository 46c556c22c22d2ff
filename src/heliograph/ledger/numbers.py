"""Whole numbers and texts in as few bytes as they need: seven bits of a number in each byte, the lowest first."""

from __future__ import annotations

from heliograph.errors import MalformedRecord


class Packer:
    """Writes one value after the other."""

    def __init__(self) -> None:
        self.data = bytearray()

    def count(self, number: int) -> None:
        """A number that is never negative."""
        while number > 0x7F:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def number(self, number: int) -> None:
        """Any whole number; the sign is its lowest bit, so that small ones are short on both sides of zero."""
        self.count(number << 1 if number >= 0 else ~number << 1 | 1)

    def text(self, text: str) -> None:
        """A text with its length."""
        data = text.encode(errors="surrogatepass")
        self.count(len(data))
        self.data += data


class Unpacker:
    """Reads the same values in the same order."""

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self._position = position

    def count(self) -> int:
        """A number that is never negative."""
        number = shift = 0
        while True:
            if self._position >= len(self._data):
                raise MalformedRecord("a record of the ledger ends in the middle of a number")
            byte = self._data[self._position]
            self._position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def number(self) -> int:
        """Any whole number."""
        number = self.count()
        return ~(number >> 1) if number & 1 else number >> 1

    def text(self) -> str:
        """A text with its length."""
        size = self.count()
        data = self._data[self._position : self._position + size]
        if len(data) < size:
            raise MalformedRecord("a record of the ledger ends in the middle of a text")
        self._position += size
        return data.decode(errors="surrogatepass")

    def raw(self, size: int) -> bytes:
        """So many bytes as they are."""
        data = self._data[self._position : self._position + size]
        if len(data) < size:
            raise MalformedRecord("a record of the ledger ends too early")
        self._position += size
        return data

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.raw(len(self._data) - self._position)
