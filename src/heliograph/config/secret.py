"""A value that must not be seen: it hides itself wherever it is printed, logged or formatted."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable
from typing import Final, NoReturn

HIDDEN: Final = "[hidden]"
_SHORTEST_REDACTED = 4


class Secret:
    """Holds a secret text. Only `reveal` gives it away; pickled, it is at least not readable in passing."""

    __slots__ = ("__value",)
    __value: str

    def __init__(self, value: str) -> None:
        object.__setattr__(self, "_Secret__value", value)

    def reveal(self) -> str:
        """The secret text itself."""
        return self.__value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a secret cannot be changed")

    def __str__(self) -> str:
        return HIDDEN

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, specification: str) -> str:
        return format(HIDDEN, specification)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(_bytes(self.__value), _bytes(other.__value))

    def __hash__(self) -> int:
        return hash((Secret, self.__value))

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return (_unpickled, (base64.b85encode(_bytes(self.__value)),))


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Hide every occurrence of the secrets in a text; very short ones are left, they would hit by chance."""
    values = {secret.reveal() for secret in secrets}
    for value in sorted((value for value in values if len(value) >= _SHORTEST_REDACTED), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def _unpickled(encoded: bytes) -> Secret:
    return Secret(base64.b85decode(encoded).decode("utf-8", "surrogatepass"))


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
