"""How each field of a document is merged, as a configuration says it."""

from __future__ import annotations

from difflib import get_close_matches

from heliograph.conflicts.crdt.counter import Counter
from heliograph.conflicts.crdt.g_set import GSet
from heliograph.conflicts.crdt.lww_map import LwwMap
from heliograph.conflicts.crdt.lww_register import LwwRegister
from heliograph.conflicts.crdt.merge_type import MergeType
from heliograph.conflicts.crdt.or_set import OrSet
from heliograph.policy.filters import split_list

MERGE_TYPES: dict[str, MergeType] = {kind.NAME: kind for kind in (Counter(), GSet(), OrSet(), LwwRegister(), LwwMap())}


def read_fields(text: str) -> dict[str, MergeType]:
    """The kinds by field, from a text such as `likes: counter, tags: or-set`; ValueError says what is wrong."""
    fields: dict[str, MergeType] = {}
    for item in split_list(text):
        field, separator, kind = (part.strip() for part in item.rpartition(":"))
        if not (separator and field):
            raise ValueError(f"{item!r} must be a field and how it is merged, such as likes: counter")
        if field in fields:
            raise ValueError(f"the field {field} comes up twice")
        fields[field] = _merge_type(field, kind)
    return fields


def _merge_type(field: str, kind: str) -> MergeType:
    found = MERGE_TYPES.get(kind)
    if found is None:
        close = get_close_matches(kind, MERGE_TYPES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"possible are {', '.join(MERGE_TYPES)}"
        raise ValueError(f"the field {field} cannot be merged as {kind!r}; {hint}")
    return found
