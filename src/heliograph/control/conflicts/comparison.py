"""Whether clusters decide alike: their decisions, matched by what is the same on every cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b

from heliograph.conflicts.decision import Decision

UNDER_WAY_MS = 60_000  # that a cluster may take longer than another, beside the window
HEAD_START_MS = 3_600_000  # before the asked time: a decision there may have its counterpart only after it

Covers = Callable[[str], bool]
"""Whether a cluster looks for conflicts in a logical topic."""


class Kind(Enum):
    """How decisions differ."""

    DIFFERENT = "different"  # the same conflict, settled in other ways
    MISSING = "missing"  # a cluster has not settled it
    TWICE = "twice"  # a cluster has settled it more than once


@dataclass(frozen=True)
class Difference:
    """A conflict, and what each cluster has made of it."""

    kind: Kind
    by_cluster: Mapping[str, Sequence[Decision]]

    @property
    def decisions(self) -> Iterator[Decision]:
        """All of them."""
        return (decision for found in self.by_cluster.values() for decision in found)

    @property
    def last_ms(self) -> int:
        """When the last of them was made."""
        return max(decision.decided_at_ms for decision in self.decisions)

    @property
    def settles_ms(self) -> int:
        """From when on nobody may be busy with it any more."""
        return max(item.decided_at_ms + item.conflict.window_ms for item in self.decisions) + UNDER_WAY_MS


@dataclass(frozen=True)
class Agreement:
    """What came of comparing."""

    clusters: Sequence[str]
    agreed: int  # conflicts that all have settled alike
    under_way: int  # young ones that not all have settled yet
    differences: Sequence[Difference]  # the newest first

    @property
    def is_equal(self) -> bool:
        """Whether no conflict is settled differently."""
        return not self.differences


class Comparison:
    """Takes in the decisions of clusters in any order; holds on to those that not all have made.

    A conflict is compared between the clusters that look for conflicts in its topic.
    """

    def __init__(self, detection: Mapping[str, Covers]) -> None:
        self._detection = detection
        self._expected: dict[str, frozenset[str]] = {}
        self._held: dict[bytes, dict[str, list[Decision]]] = {}
        self._agreed: dict[bytes, int] = {}  # what all have made once, and when the last one did

    def add(self, cluster: str, decision: Decision) -> None:
        """Take in a decision that a cluster has made."""
        expected = self._clusters_for(decision.logical_topic)
        if cluster not in expected or len(expected) == 1:
            return
        name = blake2b(repr(decision.essence).encode(), digest_size=16).digest()
        held = self._held.setdefault(name, {})
        held.setdefault(cluster, []).append(decision)
        if name not in self._agreed and held.keys() == expected and all(len(found) == 1 for found in held.values()):
            self._agreed[name] = max(found[0].decided_at_ms for found in held.values())
            del self._held[name]

    def result(self, since_ms: int, now_ms: int) -> Agreement:
        """How it stands; only decisions since a time count, and not those that may still be under way."""
        found = [item for item in self._differences() if item.last_ms >= since_ms]
        settled = sorted((item for item in found if item.settles_ms <= now_ms), key=lambda item: -item.last_ms)
        agreed = sum(at_ms >= since_ms and name not in self._held for name, at_ms in self._agreed.items())
        return Agreement(tuple(self._detection), agreed, len(found) - len(settled), settled)

    def _clusters_for(self, topic: str) -> frozenset[str]:
        known = self._expected.get(topic)
        if known is None:
            known = frozenset(alias for alias, covers in self._detection.items() if covers(topic))
            self._expected[topic] = known
        return known

    def _differences(self) -> Iterator[Difference]:
        alone: list[tuple[str, Decision]] = []
        for name, by_cluster in self._held.items():
            if name in self._agreed or any(len(found) > 1 for found in by_cluster.values()):
                yield Difference(Kind.TWICE, by_cluster)
            else:
                alone.extend((cluster, found) for cluster, decisions in by_cluster.items() for found in decisions)
        for group in _groups(alone):
            yield _difference(group)


def _groups(alone: Sequence[tuple[str, Decision]]) -> list[list[tuple[str, Decision]]]:
    """Decisions that have records in common."""
    owner: dict[object, int] = {}
    groups: dict[int, list[tuple[str, Decision]]] = {}
    for number, (cluster, decision) in enumerate(alone):
        places = [(decision.conflict.key, candidate.identity) for candidate in decision.conflict.candidates]
        merged = [(cluster, decision)]
        for old in sorted({owner[place] for place in places if place in owner}):
            merged = groups.pop(old) + merged
        groups[number] = merged
        for _, item in merged:
            owner.update({(item.conflict.key, each.identity): number for each in item.conflict.candidates})
    return list(groups.values())


def _difference(group: Sequence[tuple[str, Decision]]) -> Difference:
    by_cluster: dict[str, list[Decision]] = {}
    for cluster, decision in group:
        by_cluster.setdefault(cluster, []).append(decision)
    essences = {decision.essence for _, decision in group}
    return Difference(Kind.MISSING if len(essences) == 1 else Kind.DIFFERENT, by_cluster)
