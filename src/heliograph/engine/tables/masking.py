"""Masks fields inside of JSON values, for queries; the same rule as the transform MaskPII has by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

_KEPT = 2  # characters at each end
_MASK = "*"


def masked_text(text: str) -> str:
    """The first and last two characters stay; of four and fewer none does."""
    hidden = len(text) - 2 * _KEPT
    return text[:_KEPT] + _MASK * hidden + text[-_KEPT:] if hidden > 0 else _MASK * len(text)


class FieldMask:
    """Masks some fields of JSON objects; dots lead into nested ones, and lists are looked through."""

    def __init__(self, fields: str) -> None:
        self._paths = [tuple(field.strip().split(".")) for field in fields.split(",") if field.strip()]
        self._decode = msgspec.json.Decoder(float_hook=_Digits).decode
        self._encode = msgspec.json.Encoder(enc_hook=_raw).encode

    def mask(self, value: bytes) -> bytes | None:
        """The value with its fields masked; None if it is no JSON, so that nothing leaves unmasked by mistake."""
        try:
            document = self._decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        for path in self._paths:
            _mask_in(document, path)
        return self._encode(document)


class _Digits:
    """A number as it stands in the text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _raw(value: object) -> msgspec.Raw:
    assert isinstance(value, _Digits)
    return msgspec.Raw(value.text.encode())


def _mask_in(node: Any, path: Sequence[str]) -> None:
    if isinstance(node, list):
        for item in node:
            _mask_in(item, path)
    elif isinstance(node, dict) and path[0] in node:
        if len(path) == 1:
            node[path[0]] = _masked(node[path[0]])
        else:
            _mask_in(node[path[0]], path[1:])


def _masked(value: Any) -> Any:
    """Also what is no text is hidden: all but null."""
    if value is None:
        return None
    if isinstance(value, str):
        return masked_text(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    return masked_text(str(value.text if isinstance(value, _Digits) else value))
