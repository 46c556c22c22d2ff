"""Two clusters that mirror the same topic name into each other: offsets are translated over both ledgers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from heliograph.ledger.offset_map import OffsetMap, Place
from heliograph.model import LedgerEntry, PartitionProgress, Run, TopicPartition
from heliograph.sync.translation import _back, _forth, _places

WHERE = TopicPartition("shared", 0)


@dataclass
class Side:
    """The log of one cluster: record numbers, and None for markers."""

    log: list[int | None] = field(default_factory=list)
    own: set[int] = field(default_factory=set)  # written here, not mirrored


@dataclass
class Way:
    """A flow of one direction, with its ledger."""

    source: Side
    target: Side
    ledger: OffsetMap = field(default_factory=OffsetMap)
    position: int = 0

    def mirror(self, count: int) -> None:
        """One transaction: what came from the target is passed over."""
        end, begins = min(len(self.source.log), self.position + count), 0 if self.position == 0 else -1
        runs = []
        for offset in range(self.position, end):
            number = self.source.log[offset]
            if number is not None and number in self.source.own:
                runs.append(Run(offset, len(self.target.log), 1))
                self.target.log.append(number)
        if runs:
            self.target.log.append(None)
        if end > self.position:
            self.position = end
            progress = PartitionProgress(WHERE, WHERE, tuple(runs), end - 1, 0, 0, begins_at=begins)
            self.ledger.add(LedgerEntry("a->b", 0, "owner", 1, 0, (progress,)))


class World:
    """Both clusters, and both flows between them."""

    def __init__(self) -> None:
        self.sides = Side(), Side()
        self.ways = Way(*self.sides), Way(*reversed(self.sides))
        self._numbers = 0

    def act(self, action: str, side: int, count: int) -> None:
        """Somebody writes, or a mirror copies."""
        if action == "mirror":
            self.ways[side].mirror(count)
            return
        new = range(self._numbers, self._numbers + count)
        self._numbers += count
        self.sides[side].own.update(new)
        self.sides[side].log.extend(new)

    def place(self, side: int, offset: int, is_settled: bool = False) -> Place | None:
        """Where a consumer of one side goes on at the other."""
        forth, back = self.ways[side].ledger, self.ways[1 - side].ledger
        look_ups = [partial(_forth, forth, WHERE), partial(_back, back, WHERE, is_settled)]
        return _places(look_ups, [offset])[offset]

    def check(self, side: int, offset: int, place: Place) -> None:
        """Nothing is missed; and nothing is read again where the answer says so."""
        here, there = self.sides[side].log, self.sides[1 - side].log
        read = {number for number in here[:offset] if number is not None}
        assert {number for number in there[: place.offset] if number is not None} <= read
        if place.is_exact:
            assert not read & {number for number in there[place.offset :] if number is not None}


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["write", "mirror"]), st.integers(0, 1), st.integers(1, 5)), min_size=1, max_size=30
)


@given(ACTIONS, st.integers(0, 1))
def test_a_consumer_that_moves_misses_nothing_and_exact_means_exact(
    actions: list[tuple[str, int, int]], side: int
) -> None:
    world = World()
    begun = [(action, side, 1) for action in ("write", "mirror") for side in (0, 1)]  # else only one ledger can tell
    for action in [*begun, *actions]:
        world.act(*action)
    for offset in range(len(world.sides[side].log) + 1):
        place = world.place(side, offset)
        if place is not None:
            world.check(side, offset, place)


@given(ACTIONS, st.integers(0, 1))
def test_when_all_is_mirrored_whoever_has_read_all_goes_on_at_the_end(
    actions: list[tuple[str, int, int]], side: int
) -> None:
    world = World()
    for action in [*actions, ("write", 0, 1), ("write", 1, 1)]:
        world.act(*action)
    for _ in range(2):
        for way in world.ways:
            way.mirror(1000)
    here, there = world.sides[side].log, world.sides[1 - side].log
    place = world.place(side, len(here))
    assert place is not None
    assert not [number for number in there[place.offset :] if number is not None]
    assert place.is_exact


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_after_a_move_groups_are_exact_although_the_old_flow_stands_still(old: int, new: int, step: int) -> None:
    world = World()
    world.act("write", 0, old)
    world.act("mirror", 0, old)
    world.act("write", 1, new)
    for _ in range(old + new + 2):
        world.act("mirror", 1, step)  # the other way stands still from here on
    for offset in range(len(world.sides[1].log) + 1):
        place = world.place(1, offset, is_settled=True)
        assert place is not None
        assert place.is_exact
        world.check(1, offset, place)
