"""Compares one slice of a partition with its copy: the unit of work of a verification, wherever it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from heliograph.engine.transforming import Transformer
from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.patience import Patience
from heliograph.kafka.reading import LATEST
from heliograph.model import TopicPartition
from heliograph.recovery.verification.compaction import compare_last_values
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.log_reader import LogReader
from heliograph.recovery.verification.pairing import Pairing, Stretch, compare_stretches
from heliograph.recovery.verification.segments import Segment
from heliograph.recovery.verification.source_view import SourceView, transformed, without_returning

_OUT_OF_RANGE = 1
_ATTEMPTS_SECONDS = 30.0


@dataclass(frozen=True)
class Slice:
    """A part of one partition: what is compared in one go."""

    number: int
    source: TopicPartition
    target: TopicPartition
    segment: Segment
    by_key: bool = False  # only the last value of each key, as compaction promises


class Counting(Protocol):
    """Which batches count, by the ids of their producers, and whether each is opened."""

    @property
    def opens_all(self) -> bool:
        """Whether every batch is decoded, also where bytes are the same."""

    def counts_on_source(self, topic: str, producer_id: int) -> bool:
        """Whether a batch of the source should be on the target."""

    def counts_on_target(self, producer_id: int) -> bool:
        """Whether a batch of the target came from the source."""


@dataclass(frozen=True)
class Rules:
    """Which records count, and how closely they are looked at.

    Where topics have the same names both ways, what the flow back has written to the source does not count, nor what
    others than this flow have written to the target.
    """

    not_from_source: Mapping[str, frozenset[int]] = field(default_factory=dict)  # producer ids by topic of the source
    only_on_target: frozenset[int] | None = None
    opens_all: bool = False

    def counts_on_source(self, topic: str, producer_id: int) -> bool:
        """Whether a batch of the source should be on the target."""
        return producer_id not in self.not_from_source.get(topic, ())

    def counts_on_target(self, producer_id: int) -> bool:
        """Whether a batch of the target came from the source."""
        return self.only_on_target is None or producer_id in self.only_on_target


@dataclass(frozen=True)
class SliceResult:
    """What came of one slice."""

    number: int
    records: int
    bytes: int
    opened: int
    times_left_out: int = 0
    difference: Difference | None = None
    left_out: str = ""


class Sides:
    """Connections to both clusters, for one slice after the other."""

    def __init__(self, source: Access, target: Access, rules: Counting, view: SourceView | None = None) -> None:
        self._accesses = source, target
        self._rules = rules
        self._view = view
        self._transformers: dict[tuple[TopicPartition, TopicPartition], Transformer | None] = {}
        self._loop = Loop()
        self._source, self._target = self._networks()
        self._known: set[tuple[Network, str]] = set()

    def close(self) -> None:
        """Hang up."""
        self._loop.close()

    def compare(self, part: Slice) -> SliceResult:
        """Compare one slice; begins anew when a connection is lost."""
        patience = Patience(_ATTEMPTS_SECONDS)
        while True:
            try:
                return self._compare(part)
            except BrokerRefused as refusal:
                if refusal.code != _OUT_OF_RANGE:
                    raise
                begin, end = part.segment.begin.source, part.segment.end.source
                return SliceResult(part.number, 0, 0, 0, left_out=f"offsets {begin} to {end - 1}: removed meanwhile")
            except BrokerUnavailable:
                if not patience.wait():
                    raise
                self._known.clear()

    def _networks(self) -> tuple[Network, Network]:
        return Network(self._loop, self._accesses[0]), Network(self._loop, self._accesses[1])

    def _compare(self, part: Slice) -> SliceResult:
        self._learn(self._source, part.source)
        self._learn(self._target, part.target)
        if part.by_key:
            found = compare_last_values(*self._openers(part), lambda: self._later(part))
        else:
            source, target = self._openers(part)
            found = compare_stretches(source(), target(), self._rules.opens_all)
        return _result(part.number, found)

    def _learn(self, network: Network, where: TopicPartition) -> None:
        if (network, where.topic) not in self._known:
            network.refresh([where.topic])
            self._known.add((network, where.topic))

    def _openers(self, part: Slice) -> tuple[Callable[[], Stretch], Callable[[], Stretch]]:
        begin, end, _ = part.segment
        return (
            lambda: self._source_stretch(part, begin.source, end.source),
            lambda: self._target_stretch(part.target, begin.target, end.target),
        )

    def _source_stretch(self, part: Slice, first: int, end: int) -> Stretch:
        counts = partial(self._rules.counts_on_source, part.source.topic)
        log = LogReader(self._loop, self._source, part.source, first, end, counts).batches()
        if self._view and (header := self._view.header_rule(part.source.topic)):
            log = without_returning(log, header)
        if transformer := self._transformer(part):
            log = transformed(log, transformer)
        return Stretch(part.source, log, first, end)

    def _transformer(self, part: Slice) -> Transformer | None:
        """Built once for each partition, not for each of its slices."""
        pair = part.source, part.target
        if pair not in self._transformers:
            self._transformers[pair] = self._view.transformer(*pair) if self._view else None
        return self._transformers[pair]

    def _target_stretch(self, where: TopicPartition, first: int, end: int) -> Stretch:
        reader = LogReader(self._loop, self._target, where, first, end, self._rules.counts_on_target)
        return Stretch(where, reader.batches(), first, end)

    def _later(self, part: Slice) -> tuple[Stretch, Stretch]:
        """What lies behind a slice on both sides, whoever wrote it: any record lets compaction remove earlier ones."""
        stretches = []
        sides = (
            (self._source, part.source, part.segment.end.source),
            (self._target, part.target, part.segment.end.target),
        )
        for network, where, first in sides:
            end = reading.list_offsets(network, where.topic, {where.partition: LATEST}, READ_COMMITTED)[where.partition]
            reader = LogReader(self._loop, network, where, first, end)
            stretches.append(Stretch(where, reader.batches(), first, end))
        return stretches[0], stretches[1]


@contextmanager
def opened_sides(source: Access, target: Access, rules: Counting, view: SourceView | None = None) -> Iterator[Sides]:
    """Connections to both clusters, which hang up at the end."""
    sides = Sides(source, target, rules, view)
    try:
        yield sides
    finally:
        sides.close()


def _result(number: int, found: Pairing) -> SliceResult:
    return SliceResult(number, found.records, found.bytes, found.opened, found.times_left_out, found.difference)
