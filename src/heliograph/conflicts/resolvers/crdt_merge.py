"""JSON documents are merged, so that no write is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.crdt.document import Document, DocumentMerge, decode_document, encode_document
from heliograph.conflicts.crdt.fields import read_fields
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Kept, Resolver

FIELDS_KEY = "conflicts.crdt.fields"


class CrdtMerge(Resolver):
    """Merges the values field by field. A deletion has nothing to merge: it counts where it met no other write."""

    RULE = "crdt"

    def __init__(self) -> None:
        self._merge = DocumentMerge({})

    @property
    def accumulates(self) -> bool:
        """It does: a write that came late is not lost either."""
        return True

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read how each field is merged."""
        fields = read_fields(settings.get(FIELDS_KEY, ""))
        if not fields:
            raise ValueError(f"{FIELDS_KEY} must say how fields are merged, such as likes: counter, tags: or-set")
        self._merge = DocumentMerge(fields)

    def resolve(self, conflict: Conflict) -> Resolution:
        """The merged document; nobody wins alone."""
        document = self._merged(conflict.candidates)
        return Resolution(None, None if document is None else self._merge.write(document), self.RULE)

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        """What there was before, merged with the records; nothing after a deletion."""
        document = self._merged(candidates)
        if document is None:
            return Kept(None)
        if before.memory:
            document = self._merge.merge(decode_document(before.memory), document)
        return Kept(self._merge.write(document), encode_document(document))

    def _merged(self, candidates: Sequence[Candidate]) -> Document | None:
        documents = [
            self._merge.read(candidate.value, candidate.timestamp_ms, candidate.origin)
            for candidate in candidates
            if candidate.value is not None
        ]
        return reduce(self._merge.merge, documents) if documents else None
