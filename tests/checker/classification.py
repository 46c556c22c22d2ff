"""Names the differences between two sequences of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from heliograph.model import TopicPartition
from tests.checker.finding import Finding, Kind
from tests.checker.stock_reader import Content, Seen

_ENOUGH_IN_COMMON = 2


def changed_fields(before: Content, after: Content) -> tuple[str, ...]:
    """The fields in which two records differ."""
    return tuple(name for name in Content._fields if getattr(before, name) != getattr(after, name))


def classify(
    name: TopicPartition, source: Sequence[Seen], target: Sequence[Seen], passed: Collection[int] = ()
) -> Iterator[Finding]:
    """Each difference once, in the order of the logs; `passed` has the hashes of the equal contents before."""
    return iter(_Walk(name, source, target, passed))


class _Walk:
    """Goes through both sides at once; knows from the start which contents one side has more often than the other."""

    def __init__(
        self, name: TopicPartition, source: Sequence[Seen], target: Sequence[Seen], passed: Collection[int]
    ) -> None:
        self._name = name
        self._source = source
        self._target = target
        here, there = Counter(item.content for item in source), Counter(item.content for item in target)
        self._known = {hash(content) for content in here}.union(passed)
        self._missing = here - there
        self._surplus = there - here
        self._early: Counter[Content] = Counter()
        self._at_source = self._at_target = 0

    def __iter__(self) -> Iterator[Finding]:
        while self._at_source < len(self._source) or self._at_target < len(self._target):
            finding = self._step(_item(self._source, self._at_source), _item(self._target, self._at_target))
            if finding is not None:
                yield finding

    def _step(self, here: Seen | None, there: Seen | None) -> Finding | None:
        if here and self._early[here.content]:
            self._early[here.content] -= 1
            self._at_source += 1
            return None
        if here and there and here.content == there.content:
            self._at_source += 1
            self._at_target += 1
            return None
        return self._difference(here, there)

    def _difference(self, here: Seen | None, there: Seen | None) -> Finding:
        is_missing = here is not None and self._missing[here.content] > 0
        is_surplus = there is not None and self._surplus[there.content] > 0
        if is_missing and is_surplus and here and there and self._is_altered(here, there):
            self._pass_source(here)
            self._pass_target(there)
            return self._finding(Kind.ALTERED, here, there, changed_fields(here.content, there.content))
        if is_missing and here:
            self._pass_source(here)
            return self._finding(Kind.LOST, here, there)
        assert there is not None, "each record of the source is missing, or still to come on the target"
        if is_surplus:
            self._pass_target(there)
            kind = Kind.DUPLICATE if hash(there.content) in self._known else Kind.UNEXPECTED
            return self._finding(kind, here, there)
        self._early[there.content] += 1
        self._at_target += 1
        return self._finding(Kind.REORDERED, here, there)

    def _is_altered(self, here: Seen, there: Seen) -> bool:
        in_common = len(Content._fields) - len(changed_fields(here.content, there.content))
        return hash(there.content) not in self._known and in_common >= _ENOUGH_IN_COMMON

    def _pass_source(self, here: Seen) -> None:
        self._missing[here.content] -= 1
        self._at_source += 1

    def _pass_target(self, there: Seen) -> None:
        self._surplus[there.content] -= 1
        self._at_target += 1

    def _finding(self, kind: Kind, here: Seen | None, there: Seen | None, fields: tuple[str, ...] = ()) -> Finding:
        return Finding(kind, self._name, here and here.offset, there and there.offset, fields)


def _item(items: Sequence[Seen], index: int) -> Seen | None:
    return items[index] if index < len(items) else None
