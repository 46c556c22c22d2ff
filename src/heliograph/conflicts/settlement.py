"""From what a bucket has found to what is told: decisions, and what the views hold now."""

from __future__ import annotations

from typing import Protocol

import msgspec

from heliograph.conflicts.bucket import Found, Key
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import Decision, encode_decision
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.conflicts.resolvers.settling import settle
from heliograph.conflicts.view import Held, View


class HeldStore(Protocol):
    """Where it is kept what the views hold."""

    def get(self, place: Key) -> Held | None:
        """What the view holds for a key."""

    def put(self, place: Key, held: Held) -> None:
        """Remember what the view holds from now on."""


class Told(msgspec.Struct, frozen=True, array_like=True):
    """A decision as it is published."""

    topic: str  # the logical one
    key: bytes
    data: bytes


class Change(msgspec.Struct, frozen=True, array_like=True):
    """What the view of a logical topic holds for a key from now on."""

    topic: str
    key: bytes
    held: Held


class Settlement:
    """Settles what was found, by one rule."""

    def __init__(self, resolver: Resolver, held: HeldStore | None) -> None:
        self._resolver = resolver
        self._view = View(resolver)
        self._held = held  # None: no views are wanted

    def settle(self, found: Found, decided_at_ms: int) -> tuple[list[Told], list[Change]]:
        """All decisions, and the views' changes, each key once."""
        told: list[Told] = []
        changed: dict[Key, None] = {}
        for item in found.settled:
            if isinstance(item, Conflict):
                told.append(self._decide(item, decided_at_ms, changed))
            elif self._held is not None:
                self._keep(item, self._held, changed)
        if self._held is not None:
            for record in found.late:
                self._keep(record, self._held, changed)
        return told, self._changes(changed)

    def _decide(self, conflict: Conflict, decided_at_ms: int, changed: dict[Key, None]) -> Told:
        resolution = settle(self._resolver, conflict)
        first = conflict.candidates[0]
        if self._held is not None:
            place = first.original_topic, first.key
            before = self._held.get(place)
            self._note(place, before, self._view.after_conflict(before, conflict, resolution), self._held, changed)
        decision = Decision.made(conflict, resolution, decided_at_ms, first.original_topic)
        return Told(first.original_topic, first.key, encode_decision(decision))

    def _keep(self, record: Candidate, store: HeldStore, changed: dict[Key, None]) -> None:
        place = record.original_topic, record.key
        before = store.get(place)
        self._note(place, before, self._view.after_record(before, record), store, changed)

    @staticmethod
    def _note(place: Key, before: Held | None, after: Held, store: HeldStore, changed: dict[Key, None]) -> None:
        if after != before:
            store.put(place, after)
            changed[place] = None

    def _changes(self, changed: dict[Key, None]) -> list[Change]:
        store = self._held
        return [Change(*place, held) for place in changed if store is not None and (held := store.get(place))]
