"""How a text is made unreadable: masked, hashed or replaced by one of the same shape."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable

Disguise = Callable[[str], str]

_KEPT = 2  # characters that stay readable at each end of a masked text
_BLOCK_BYTES = 32
_HASHED_AT_ONCE = 64  # bytes, by SHA-256
_DOMAIN = b"tokenize"


class Mask:
    """Keeps the first and the last two characters; of a text of up to four, none.

    Characters are code points, so that a pictogram is one character and is never cut in half.
    """

    def __init__(self, char: str) -> None:
        self._char = char

    def __call__(self, text: str) -> str:
        """The masked text, as long as it was."""
        hidden = len(text) - 2 * _KEPT
        if hidden <= 0:
            return self._char * len(text)
        return text[:_KEPT] + self._char * hidden + text[-_KEPT:]


class _Hmac:
    """HMAC-SHA256 with one key, of which all that depends on the key alone is done once: a third of the time."""

    def __init__(self, key: str) -> None:
        self._key = key
        data = key.encode()
        block = (data if len(data) <= _HASHED_AT_ONCE else hashlib.sha256(data).digest()).ljust(_HASHED_AT_ONCE, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def digest(self, data: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(data)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()

    def __reduce__(self) -> tuple[type[_Hmac], tuple[str]]:
        return _Hmac, (self._key,)


class KeyedHash:
    """HMAC-SHA256 of the text in UTF-8, as 64 hexadecimal digits."""

    def __init__(self, key: str) -> None:
        self._hmac = _Hmac(key)

    def __call__(self, text: str) -> str:
        """The hash: the same for the same text and key, everywhere."""
        return self._hmac.digest(_utf8(text)).hex()


class Token:
    """A text of the same shape: letters for letters (capital for capital), digits for digits, the rest as it was.

    What replaces a character depends on the key and on the whole text. There is no way back, not even with the key;
    two short texts may get the same token.
    """

    def __init__(self, key: str) -> None:
        self._hmac = _Hmac(key)

    def __call__(self, text: str) -> str:
        """The token: the same for the same text and key, everywhere."""
        stream = self._stream(text)
        if text.isascii():
            return bytes([_ASCII[code][number] for code, number in zip(text.encode(), stream, strict=False)]).decode()
        return "".join(map(_replaced, text, stream))

    def _stream(self, text: str) -> bytes:
        """As many numbers as the text has characters, that only the key and the text decide."""
        data = _utf8(text)
        blocks = range(-(-len(text) // _BLOCK_BYTES))
        return b"".join([self._hmac.digest(b"%b%d:%b" % (_DOMAIN, number, data)) for number in blocks])


def _replaced(char: str, number: int) -> str:
    if char.isdecimal():
        return chr(48 + number % 10)
    if "a" <= char <= "z":
        return chr(97 + number % 26)
    if "A" <= char <= "Z":
        return chr(65 + number % 26)
    return char if char.isascii() else _replaced_foreign(char, number)


def _replaced_foreign(char: str, number: int) -> str:
    """Letters and their marks of all scripts tell something about a person; punctuation and symbols do not."""
    kind = unicodedata.category(char)
    if kind[0] == "N":
        return chr(48 + number % 10)
    if kind[0] in "LM":
        return chr((65 if kind == "Lu" else 97) + number % 26)
    return char


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_ASCII = [bytes(ord(_replaced(chr(code), number)) for number in range(256)) for code in range(128)]
