"""Java's own key store format (JKS), read without Java.

A file is a header, entries, and a digest over both that depends on the password. Private keys are protected
by a key stream of chained SHA-1 digests of password and salt. Weak, but it is what the files in use hold.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

MAGIC = b"\xfe\xed\xfe\xed"
_DIGEST_SIZE = 20
_DIGEST_PHRASE = b"Mighty Aphrodite"
_KEY_ENTRY = 1
_CERTIFICATE_ENTRY = 2
_SEQUENCE = 0x30
_OCTET_STRING = 0x04


class JksError(ValueError):
    """A file is not a readable JKS store; the text says why, and holds no secret."""


@dataclass(frozen=True)
class KeyEntry:
    """A private key, still protected, and its certificates (DER), the key's own first."""

    alias: str
    protected_key: bytes
    chain: tuple[bytes, ...]


@dataclass(frozen=True)
class JksStore:
    """All entries of a store: private keys, and trusted certificates (DER)."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...]


def read_store(data: bytes, password: str | None) -> JksStore:
    """Read a store and check its digest; without a password the check is left out, as in Java."""
    body, digest = data[:-_DIGEST_SIZE], data[-_DIGEST_SIZE:]
    if password is not None and not hmac.compare_digest(_sha1(_utf16(password), _DIGEST_PHRASE, body), digest):
        raise JksError("the password is wrong, or the file is damaged")
    reader = _Reader(body)
    if reader.take(4) != MAGIC:
        raise JksError("it is not a JKS store")
    version = reader.number()
    if version not in (1, 2):
        raise JksError(f"JKS version {version} is not known")
    return _entries(reader, version)


def recover_key(entry: KeyEntry, password: str) -> bytes:
    """Take the protection off a private key (PKCS#8, DER)."""
    protected = _protected_bytes(entry.protected_key)
    salt, encrypted, check = (
        protected[:_DIGEST_SIZE],
        protected[_DIGEST_SIZE:-_DIGEST_SIZE],
        protected[-_DIGEST_SIZE:],
    )
    secret = _utf16(password)
    stream = b""
    block = salt
    while len(stream) < len(encrypted):
        block = _sha1(secret, block)
        stream += block
    key = bytes(left ^ right for left, right in zip(encrypted, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret, key), check):
        raise JksError(f"the key password for the entry {entry.alias} is wrong")
    return key


def _entries(reader: _Reader, version: int) -> JksStore:
    keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(reader.number()):
        tag, alias = reader.number(), reader.text()
        reader.take(8)
        if tag == _KEY_ENTRY:
            protected = reader.block()
            chain = tuple(_certificate(reader, version) for _ in range(reader.number()))
            keys.append(KeyEntry(alias, protected, chain))
        elif tag == _CERTIFICATE_ENTRY:
            trusted.append(_certificate(reader, version))
        else:
            raise JksError(f"the entry {alias} is of an unknown kind")
    return JksStore(tuple(keys), tuple(trusted))


def _certificate(reader: _Reader, version: int) -> bytes:
    if version > 1:
        reader.text()
    return reader.block()


def _protected_bytes(encoded: bytes) -> bytes:
    """The octets of an EncryptedPrivateKeyInfo: a sequence of algorithm and octet string."""
    content, _ = _der_value(encoded, _SEQUENCE)
    _, rest = _der_value(content, _SEQUENCE)
    octets, _ = _der_value(rest, _OCTET_STRING)
    return octets


def _der_value(data: bytes, tag: int) -> tuple[bytes, bytes]:
    reader = _Reader(data)
    if reader.take(1)[0] != tag:
        raise JksError("a private key is not encoded as expected")
    length = reader.take(1)[0]
    if length & 0x80:
        length = int.from_bytes(reader.take(length & 0x7F), "big")
    return reader.take(length), reader.rest()


class _Reader:
    """Takes numbers, texts and blocks from the front of bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise JksError("the file is cut short or damaged")
        self._at += size
        return taken

    def rest(self) -> bytes:
        return self._data[self._at :]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def text(self) -> str:
        (size,) = struct.unpack(">H", self.take(2))
        return self.take(size).decode("utf-8", "replace")

    def block(self) -> bytes:
        return self.take(self.number())


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


def _sha1(*parts: bytes) -> bytes:
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()
