"""Flows that keep topic names, as a graph: what each leaves out so that every record arrives once, and never at home.

The rule: what the flow X->Y has written to Y is left out by Y->Z if X is Z, or if X->Z brings it there anyway. By that
rule every cluster that can be reached gets every record; whether it gets one twice depends on the graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.policy.filters import TopicFilter


class Way(NamedTuple):
    """A flow, by the aliases of its clusters."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass(frozen=True)
class SameNames:
    """All flows of a file that keep topic names, whichever process runs them, with the topics that they take."""

    flows: tuple[tuple[Way, TopicFilter], ...] = ()

    def ways_of(self, topic: str) -> frozenset[Way]:
        """The flows that mirror a topic."""
        return frozenset(way for way, topics in self.flows if topics.should_replicate_topic(topic))

    def writers_left_out(self, topic: str, way: Way) -> frozenset[str]:
        """The clusters whose flows to the source of a flow write to a topic what it does not pass on."""
        return left_out(self.ways_of(topic), way)

    def origins_left_out(self, topic: str, way: Way) -> frozenset[str]:
        """The clusters whose records a flow does not pass on, whoever brought them to its source."""
        return brought_by(self.ways_of(topic), way.target) - {way.source}


class Repetition(NamedTuple):
    """The way by which a record would come to its last cluster again, and the one by which it came there first."""

    way: tuple[str, ...]
    first: tuple[str, ...]

    @property
    def is_home(self) -> bool:
        """Whether the record would come back to where it was written."""
        return self.way[0] == self.way[-1]

    def remedies(self) -> list[Way]:
        """The flows with which it would not."""
        way = self.way
        if self.is_home:  # it would be so for the records of every cluster of the ring
            ring = way[:-1]
            return [Way(ring[number - 2], ring[number]) for number in range(len(ring))]
        return [Way(way[-3], way[-1])]


def brought_by(ways: Collection[Way], target: str) -> frozenset[str]:
    """The clusters whose records a target has or gets without a detour: itself, and those with a flow to it."""
    return frozenset({target, *(way.source for way in ways if way.target == target)})


def left_out(ways: Collection[Way], way: Way) -> frozenset[str]:
    """The clusters whose flows to the source of a flow write there what it does not pass on."""
    sources = {one.source for one in ways if one.target == way.source}
    return frozenset({way.target} | (sources & brought_by(ways, way.target)))


def repetitions(ways: Collection[Way]) -> Iterator[Repetition]:
    """Every way by which a record would come to a cluster a second time under the rule, from wherever it is written."""
    hidden = {way: left_out(ways, way) for way in sorted(ways)}
    for origin in sorted({way.source for way in ways}):
        yield from _repetitions_from(origin, hidden)


def _repetitions_from(origin: str, hidden: Mapping[Way, Collection[str]]) -> Iterator[Repetition]:
    first: dict[str, tuple[str, ...]] = {origin: (origin,)}
    waiting = deque(first.values())
    while waiting:
        path = waiting.popleft()
        for way, writers in hidden.items():
            if way.source != path[-1] or (len(path) > 1 and path[-2] in writers):
                continue
            longer = (*path, way.target)
            if way.target in first:
                yield Repetition(longer, first[way.target])
            else:
                first[way.target] = longer
                waiting.append(longer)
