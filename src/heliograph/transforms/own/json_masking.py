"""Masks fields of a JSON text without parsing the rest of it, whose bytes stay as they are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Raw

from heliograph.errors import DataError
from heliograph.transforms.java_numbers import double_text
from heliograph.transforms.own.disguise import Disguise
from heliograph.transforms.own.field_tree import FieldTree
from heliograph.transforms.own.value_masking import all_masked

ENVELOPE: Collection[str] = {"schema", "payload"}

_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_read_object = msgspec.json.Decoder(dict[str, Raw]).decode
_read_array = msgspec.json.Decoder(list[Raw]).decode
_read_text = msgspec.json.Decoder(str).decode
_read_any = msgspec.json.Decoder(float_hook=lambda text: double_text(float(text))).decode
_write = msgspec.json.Encoder().encode


class NotAnObject(ValueError):
    """The bytes are no JSON object."""


class JsonMasking:
    """Masks the fields of a tree in JSON objects.

    Where one of them is found the object is written again, even if all of them are null: of a name that comes up
    twice only the last value is left, so that none can hide behind another.
    """

    def __init__(self, tree: FieldTree, disguise: Disguise, who: str) -> None:
        self._tree = tree
        self._disguise = disguise
        self._who = who

    def masked(self, data: bytes) -> bytes | None:
        """The object with its fields masked; the same bytes if it has none; None for what may be an envelope."""
        try:
            fields: dict[str, Any] = _read_object(data)
        except _BROKEN:
            raise NotAnObject from None
        if len(fields) == len(ENVELOPE) and fields.keys() == ENVELOPE:
            return None
        try:
            return _write(fields) if self._mask(fields, self._tree) else data
        except _BROKEN:
            raise DataError(f"{self._who}: a field that is to be masked is not valid JSON") from None

    def _mask(self, fields: dict[str, Any], tree: FieldTree) -> bool:
        """Mask some fields in place; whether there were any."""
        is_any = False
        for name, below in tree.items():
            raw = fields.get(name)
            if raw is not None:
                fields[name] = self._masked_field(raw) if below is None else self._masked_below(raw, below)
                is_any = True
        return is_any

    def _masked_field(self, raw: Raw) -> Any:
        data = bytes(raw)
        if data[0] == 0x22:
            return self._disguise(_read_text(data))
        return all_masked(_read_any(data), self._disguise)

    def _masked_below(self, raw: Raw, tree: FieldTree) -> Any:
        first = bytes(memoryview(raw)[:1])
        if first == b"{":
            fields: dict[str, Any] = _read_object(raw)
            return fields if self._mask(fields, tree) else raw
        if first == b"[":
            return [self._masked_below(item, tree) for item in _read_array(raw)]
        return raw
