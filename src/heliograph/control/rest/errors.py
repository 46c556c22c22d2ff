"""Errors as Kafka Connect tells them: a code and a message."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.errors import HeliographError


class RestError(HeliographError):
    """A request that cannot be answered as asked."""

    def __init__(self, code: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.headers = dict(headers or {})
