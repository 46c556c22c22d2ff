"""What a file keeps of tokens and passwords: enough to recognise them, not enough to use them."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

_HEX: Final = re.compile(r"[0-9a-f]+")
_SHA256_DIGITS: Final = 64
_SALT_BYTES: Final = 16
_KEY_BYTES: Final = 32
_COST: Final = (2**15, 8, 3)  # 32 MiB and a quarter of a second
_HIGHEST_COST: Final = (2**20, 32, 16)
_MEMORY: Final = 2 * 128  # bytes for each unit of n and r; OpenSSL wants some more than it needs
_TOKEN_BYTES: Final = 32


class BadHashError(ValueError):
    """A hash is not written as it should be; says how, and does not repeat it."""


@dataclass(frozen=True)
class TokenHash:
    """The hash of a token. A token is long and random, so that a plain hash cannot be turned back."""

    digits: str = field(repr=False)

    @classmethod
    def of(cls, token: str) -> TokenHash:
        """The hash of a token."""
        return cls(hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest())

    @classmethod
    def parse(cls, text: str) -> TokenHash:
        """The hash that was written as `sha256:HEX`."""
        kind, _, digits = text.partition(":")
        digits = digits.strip().lower()
        if kind.strip() != "sha256" or len(digits) != _SHA256_DIGITS or not _HEX.fullmatch(digits):
            raise BadHashError(f"does not end in sha256: and {_SHA256_DIGITS} hex digits")
        return cls(digits)

    def equals(self, other: TokenHash) -> bool:
        """Whether both are of the same token; takes the same time whatever they are."""
        return hmac.compare_digest(self.digits, other.digits)

    def __str__(self) -> str:
        return f"sha256:{self.digits}"


@dataclass(frozen=True)
class PasswordHash:
    """The hash of a password: slow to compute, so that guessing is slow too."""

    cost: tuple[int, int, int]
    salt: bytes = field(repr=False)
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, password: str) -> PasswordHash:
        """A hash of a password, with a new salt."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return cls(_COST, salt, _scrypt(password, salt, _COST))

    @classmethod
    def of_nobody(cls) -> PasswordHash:
        """What no password matches; to find that out takes as long as with any other."""
        return cls(_COST, secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_KEY_BYTES))

    @classmethod
    def parse(cls, text: str) -> PasswordHash:
        """The hash that was written as `scrypt:N:R:P:SALT:KEY`."""
        try:
            kind, n, r, p, salt, key = (part.strip() for part in text.split(":"))
            cost, hash_ = (
                (int(n), int(r), int(p)),
                cls((int(n), int(r), int(p)), bytes.fromhex(salt), bytes.fromhex(key)),
            )
        except ValueError:
            raise BadHashError("does not end in scrypt:N:R:P:SALT:KEY") from None
        if kind != "scrypt" or len(hash_.key) != _KEY_BYTES or len(hash_.salt) < _SALT_BYTES:
            raise BadHashError("does not end in scrypt:N:R:P:SALT:KEY")
        if not _is_possible(cost):
            raise BadHashError("has numbers after scrypt: that cannot be computed here")
        return hash_

    def matches(self, password: str) -> bool:
        """Whether this is the password; takes a while."""
        return hmac.compare_digest(_scrypt(password, self.salt, self.cost), self.key)

    def __str__(self) -> str:
        return ":".join(("scrypt", *map(str, self.cost), self.salt.hex(), self.key.hex()))


def new_token() -> str:
    """A token that nobody can guess."""
    return f"hlg_{secrets.token_urlsafe(_TOKEN_BYTES)}"


def _is_possible(cost: tuple[int, int, int]) -> bool:
    is_power = cost[0] > 1 and cost[0] & (cost[0] - 1) == 0
    return is_power and all(0 < number <= highest for number, highest in zip(cost, _HIGHEST_COST, strict=True))


def _scrypt(password: str, salt: bytes, cost: tuple[int, int, int]) -> bytes:
    n, r, p = cost
    memory = _MEMORY * r * (n + p)
    secret = password.encode("utf-8", "surrogateescape")
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, maxmem=memory, dklen=_KEY_BYTES)
