"""MaskPII: makes personal data in named fields unreadable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.message import Message, Side
from heliograph.transforms.own.disguise import Disguise, KeyedHash, Mask, Token
from heliograph.transforms.own.field_tree import field_tree
from heliograph.transforms.own.json_masking import ENVELOPE, JsonMasking, NotAnObject
from heliograph.transforms.own.value_masking import MaskedSchema, masked_schema, masked_value
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.name_list import required_name_list
from heliograph.transforms.smt.requirements import kind_of
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_WHO = "MaskPII"
_BLANKS = b" \t\r\n"


class MaskPII(SidedTransform):
    """Masks, hashes or tokenizes fields, at the top or inside; whatever is not null in them leaves as text."""

    hides_data = True
    OPTIONS = (
        StageOption(
            "fields",
            "The fields, separated by commas: names, or dotted paths such as customer.email. Arrays on the way mean "
            "each of their elements; a name with dots in it stands between backticks.",
            is_required=True,
        ),
        StageOption(
            "mode",
            "mask: all but the first and last two characters are hidden, all of up to four. hash: HMAC-SHA256 in "
            "hexadecimal. tokenize: letters for letters, digits for digits.",
            default="mask",
            choices=("mask", "hash", "tokenize"),
        ),
        StageOption("mask.char", "The character that hides others in mode mask.", default="*"),
        StageOption("key", "The secret of hash and tokenize: the same secret gives the same results everywhere."),
        StageOption(
            "not.an.object",
            "What to do with a record that is no JSON object or struct, so that its fields cannot be found by name: "
            "it fails, or it passes as it is.",
            default="fail",
            choices=("fail", "pass"),
        ),
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the fields, and how to disguise them."""
        names = required_name_list(settings, "fields")
        try:
            self._tree = field_tree(names)
        except ValueError as error:
            raise ValueError(f"fields: {error}") from None
        self._disguise = _disguise(settings)
        self._passes_others = settings.get("not.an.object", "fail") == "pass"
        self._json = JsonMasking(self._tree, self._disguise, _WHO)
        self._schemas = SchemaCache(self._masked_schema)

    def apply(self, message: Message) -> Message:
        """The message with its fields masked."""
        side = self.side(message)
        data = side.raw_bytes
        if data is None or not (data[:1] == b"{" or data.lstrip(_BLANKS)[:1] == b"{"):
            return self._apply_parsed(message, side)
        try:
            masked = self._json.masked(data)
        except NotAnObject:
            return self._other(message, "not valid JSON")
        if masked is None:
            return self._apply_parsed(message, side, is_envelope=True)
        if masked is not data:
            side.replace_bytes(masked)
        return message

    def _apply_parsed(self, message: Message, side: Side, is_envelope: bool = False) -> Message:
        schema, value, _ = side.parsed(message.topic)
        if not (value is None or _is_object(value)):
            return self._other(message, kind_of(value))
        masked_schema, masked = self._masked(schema, value)
        # Bytes may hold more than their schema says, or say things twice: what was parsed does not.
        if masked is not value or is_envelope or schema is not None:
            side.replace(masked_schema, masked)
        return message

    def _masked(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if schema is not None:
            made = self._schemas.get(schema)
            return made.schema, value if made.change is None else made.change(value)
        masked = masked_value(value, self._tree, self._disguise)
        if isinstance(masked, dict) and masked.keys() == ENVELOPE:  # with a schema that is none
            return None, {**masked, "payload": masked_value(masked["payload"], self._tree, self._disguise)}
        return None, masked

    def _masked_schema(self, schema: Schema) -> MaskedSchema:
        return masked_schema(schema, self._tree, self._disguise)

    def _other(self, message: Message, what: str) -> Message:
        if self._passes_others:
            return message
        raise DataError(
            f"{_WHO}: the {self.side_name} is not a JSON object but {what}, so that nothing in it can be masked by "
            "name (not.an.object = pass lets it through)"
        )


def _is_object(value: Any) -> bool:
    """Whether fields can be found in it by name; of a list, in each of its elements."""
    return isinstance(value, dict | Struct) or (isinstance(value, list) and all(map(_is_object, value)))


def _disguise(settings: Mapping[str, str]) -> Disguise:
    mode = settings.get("mode", "mask")
    if mode == "mask":
        char = settings.get("mask.char", "*")
        if len(char) != 1:
            raise ValueError("mask.char must be one character")
        return Mask(char)
    key = settings.get("key", "")
    if not key:
        raise ValueError(f"key is missing: mode {mode} needs a secret")
    return KeyedHash(key) if mode == "hash" else Token(key)
