"""A JSON object whose fields are merged one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.conflicts.crdt.canonical import canonical, read_canonical
from heliograph.conflicts.crdt.lww_register import LwwRegister, register
from heliograph.conflicts.crdt.merge_type import MergeType, State
from heliograph.errors import DataError

Document = dict[str, State]


class DocumentMerge:
    """Merges documents by the kinds of their fields.

    A field without a kind may hold anything: it is a register that was set when and where its record was written.
    A field that only one of two documents has is taken over.
    """

    def __init__(self, fields: Mapping[str, MergeType]) -> None:
        self._fields = fields
        self._plain = LwwRegister()

    def read(self, value: bytes, timestamp_ms: int, origin: str) -> Document:
        """The document of a record; DataError if it is none."""
        members = read_canonical(value)
        if not isinstance(members, dict):
            raise DataError("the value is not a JSON object, so that it has no fields to merge")
        return {name: self._state(name, member, timestamp_ms, origin) for name, member in members.items()}

    def merge(self, left: Document, right: Document) -> Document:
        """What both say together."""
        both = {name: self._kind(name).merge(left[name], right[name]) for name in left.keys() & right.keys()}
        return {**left, **right, **both}

    def write(self, document: Document) -> bytes:
        """The JSON text of a document: one for all that say the same."""
        return canonical({name: self._member(name, state) for name, state in document.items()})

    def _state(self, name: str, member: Any, timestamp_ms: int, origin: str) -> State:
        kind = self._fields.get(name)
        return register(member, timestamp_ms, origin) if kind is None else kind.read(name, member)

    def _member(self, name: str, state: State) -> Any:
        return state if name in self._fields else state["value"]

    def _kind(self, name: str) -> MergeType:
        return self._fields.get(name, self._plain)


def encode_document(document: Document) -> bytes:
    """A document with all that is needed to merge it further."""
    return canonical(document)


def decode_document(data: bytes) -> Document:
    """What `encode_document` wrote."""
    document: Document = read_canonical(data)
    return document
