"""How often conflicts happen, where, and to which keys: what decisions add up to over a span of time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.conflicts.decision import Decision
from heliograph.control.conflicts.top_counts import Count, TopCounts, most

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
MERGED = "(merged)"  # stands for the winner where there is none
SLICES = 60

_KEYS = 1_000  # of a slice that are counted on their own
_NAMES = 1_000  # of topics
_EXAMPLE_BYTES = 4 << 20


class TopicKey(NamedTuple):
    """A key of a logical topic."""

    topic: str
    key: bytes


@dataclass(frozen=True)
class Bar:
    """How many conflicts were settled in a slice of time."""

    at_ms: int  # where it begins
    span_ms: int
    conflicts: int


@dataclass(frozen=True)
class Figures:
    """What a book says at one moment; lists have the most frequent first, examples the newest."""

    since_ms: int
    now_ms: int
    conflicts: int
    last_minute: int
    last_hour: int | None  # None: the book does not reach back so far
    last_ms: int  # when the newest was decided; 0 if there is none
    bars: Sequence[Bar]
    topics: Sequence[Count[str]]
    rules: Sequence[Count[str]]
    winners: Sequence[Count[str]]
    keys: Sequence[Count[TopicKey]]
    examples: Sequence[Decision]

    @property
    def per_minute(self) -> float:
        """The rate over all that was read."""
        return self.conflicts * MINUTE_MS / max(1, self.now_ms - self.since_ms)


@dataclass
class _Slice:
    conflicts: int = 0
    topics: TopCounts[str] = field(default_factory=lambda: TopCounts(_NAMES))
    rules: TopCounts[str] = field(default_factory=lambda: TopCounts(_NAMES))
    winners: TopCounts[str] = field(default_factory=lambda: TopCounts(_NAMES))
    keys: TopCounts[TopicKey] = field(default_factory=lambda: TopCounts(_KEYS))

    def add(self, decision: Decision) -> None:
        topic, winner = decision.logical_topic, decision.resolution.winner
        self.conflicts += 1
        self.topics.add(topic)
        self.rules.add(decision.resolution.rule)
        self.winners.add(MERGED if winner is None else winner.origin)
        self.keys.add(TopicKey(topic, decision.conflict.key))


class _Recent:
    """Counts of the last steps of time; forgets what is older."""

    def __init__(self, step_ms: int, steps: int) -> None:
        self._step_ms = step_ms
        self._steps = steps
        self._counts: Counter[int] = Counter()

    def add(self, at_ms: int, now_ms: int) -> None:
        step, oldest = at_ms // self._step_ms, now_ms // self._step_ms - self._steps
        if step <= oldest:
            return
        if step not in self._counts:
            self._counts = Counter({known: count for known, count in self._counts.items() if known > oldest})
        self._counts[step] += 1

    def total(self, now_ms: int) -> int:
        first = now_ms // self._step_ms - self._steps
        return sum(count for step, count in self._counts.items() if step > first)


class ConflictBook:
    """Adds up the decisions of the last span of time; what is older falls out of it, slice by slice.

    Its size is bounded: rare keys of a slice give way to frequent ones, old examples to new ones.
    """

    def __init__(self, since_ms: int, span_ms: int, examples: int) -> None:
        """Made at the moment since_ms + span_ms."""
        self._since_ms = since_ms
        self._span_ms = max(span_ms, SLICES)
        self._step_ms = -(-self._span_ms // SLICES)
        self._slices: dict[int, _Slice] = {}
        self._seconds = _Recent(1_000, 60)
        self._minutes = _Recent(MINUTE_MS, 60)
        self._examples: deque[tuple[Decision, int]] = deque(maxlen=examples)
        self._example_bytes = 0
        self._last_ms = 0

    def add(self, decision: Decision, size: int, now_ms: int) -> None:
        """Take in a decision, of so many bytes; one from the future, by our clock, counts as made now."""
        at_ms = min(decision.decided_at_ms, now_ms)
        number = self._number(at_ms)
        if number < self._first(now_ms):
            return
        self._slices.setdefault(number, _Slice()).add(decision)
        self._seconds.add(at_ms, now_ms)
        self._minutes.add(at_ms, now_ms)
        self._last_ms = max(self._last_ms, at_ms)
        self._keep(decision, size)

    def figures(self, now_ms: int, limit: int) -> Figures:
        """What it all comes to now, with so many keys and examples at most."""
        first = self._first(now_ms)
        self._slices = {number: part for number, part in self._slices.items() if number >= first}
        parts = list(self._slices.values())
        since_ms = self._since_ms + first * self._step_ms
        return Figures(
            since_ms=since_ms,
            now_ms=now_ms,
            conflicts=sum(part.conflicts for part in parts),
            last_minute=self._seconds.total(now_ms),
            last_hour=self._minutes.total(now_ms) if self._span_ms >= HOUR_MS else None,
            last_ms=self._last_ms if self._last_ms >= since_ms else 0,
            bars=list(self._bars(first, now_ms)),
            topics=most((part.topics for part in parts), limit),
            rules=most((part.rules for part in parts), limit),
            winners=most((part.winners for part in parts), limit),
            keys=most((part.keys for part in parts), limit),
            examples=self._newest(since_ms, limit),
        )

    def _number(self, at_ms: int) -> int:
        return (at_ms - self._since_ms) // self._step_ms

    def _first(self, now_ms: int) -> int:
        """The oldest slice that still counts."""
        return max(0, self._number(now_ms - self._span_ms))

    def _bars(self, first: int, now_ms: int) -> Iterator[Bar]:
        """All slices but the present one, which is not over yet."""
        for number in range(first, self._number(now_ms)):
            part = self._slices.get(number)
            yield Bar(self._since_ms + number * self._step_ms, self._step_ms, part.conflicts if part else 0)

    def _newest(self, since_ms: int, limit: int) -> list[Decision]:
        found = [decision for decision, _ in reversed(self._examples) if decision.decided_at_ms >= since_ms]
        return found[:limit]

    def _keep(self, decision: Decision, size: int) -> None:
        if len(self._examples) == self._examples.maxlen:
            self._example_bytes -= self._examples[0][1] if self._examples else 0
        self._examples.append((decision, size))
        self._example_bytes += size
        while self._example_bytes > _EXAMPLE_BYTES and len(self._examples) > 1:
            self._example_bytes -= self._examples.popleft()[1]
