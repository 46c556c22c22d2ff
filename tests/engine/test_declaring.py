"""What may leave when: never before it is declared, never out of order, and in the end all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.engine import declaring
from heliograph.engine.declaring import Declared, Declaring
from heliograph.engine.lease import Lease
from heliograph.engine.outgoing import Acknowledged, Outgoing, Queued, TargetPartition
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.network import Network
from heliograph.kafka.transaction import PlainProducer
from heliograph.ledger.declarations import SEQUENCES, Anchor, Flush, Writer
from heliograph.ledger.notes import Note
from heliograph.model import TopicPartition

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("p.t", 0)
TOPIC_ID = "00000000-0000-0000-0000-000000000001"
NOW = int(time.time() * 1000)
DAY = 24 * 60 * 60 * 1000


class Held:
    """A lease that somebody holds, or does not."""

    def __init__(self) -> None:
        self.is_held = True

    def check(self) -> None:
        if not self.is_held:
            raise BrokerUnavailable("not held")


class Desk:
    """A gate with what goes in and what comes out."""

    def __init__(self) -> None:
        self.lease = Held()
        self.writes: list[tuple[Sequence[Note], Callable[[], None]]] = []
        self.told: Note | None = None
        self.gate = Declaring("lane-", "lane-d0", Writer(7, 1), cast(Lease, self.lease), self._write)
        producer = PlainProducer("lane-d0", ProducerStamp(7, 1, is_transactional=True))
        self.outgoing = Outgoing(cast(Network, None), producer, gate=self.gate)
        self.target = TargetPartition(TARGET, 0)
        first = Anchor(0, 100, 0)
        self.told = self.gate.begin(Declared(SOURCE, self.target, TOPIC_ID, Flush(100, -1), 0, first, [first]))

    def _write(self, notes: Sequence[Note], on_written: Callable[[], None]) -> None:
        self.writes.append((notes, on_written))

    def put(self, offset: int, length: int) -> None:
        pieces = [(offset, length)]
        self.outgoing.put(self.target, Queued(b"", lambda _: None, SOURCE, pieces=pieces, leader_epoch=0))

    def declare(self) -> None:
        self.gate.declare(self.outgoing)

    def acknowledge(self) -> None:
        [note], on_written = self.writes.pop(0)
        self.told = note
        on_written()

    @property
    def leaving(self) -> list[int]:
        """The first source offset of each batch that may leave."""
        return [batch.pieces[0][0] for batch in self.target.queue]


def test_what_follows_without_a_gap_leaves_at_once() -> None:
    desk = Desk()
    desk.put(100, 5)
    desk.put(105, 5)
    desk.declare()
    assert desk.leaving == [100, 105]
    assert not desk.writes


def test_what_is_behind_a_gap_leaves_when_that_is_declared_and_so_does_all_behind_it() -> None:
    desk = Desk()
    desk.put(100, 5)
    desk.put(107, 5)
    desk.declare()
    desk.put(112, 5)  # follows without a gap, but must not overtake
    assert desk.leaving == [100]
    assert not desk.outgoing.is_idle
    desk.acknowledge()
    assert desk.leaving == [100, 107, 112]


def test_one_request_declares_all_gaps_that_were_found_meanwhile() -> None:
    desk = Desk()
    desk.put(107, 5)
    desk.declare()
    for offset in (120, 130, 140):
        desk.put(offset, 5)
        desk.declare()
    assert len(desk.writes) == 1
    desk.acknowledge()
    assert desk.leaving == [107]
    desk.declare()
    assert len(desk.writes) == 1
    desk.acknowledge()
    assert desk.leaving == [107, 120, 130, 140]


@given(st.lists(st.one_of(st.tuples(st.integers(0, 2), st.integers(1, 4)), st.sampled_from("da")), max_size=40))
def test_nothing_leaves_before_it_is_declared_and_all_of_it_does_in_order(steps: list[tuple[int, int] | str]) -> None:
    desk = Desk()
    offset, sequence = 100, 0
    stands_for: dict[int, int] = {}  # by source offset the sequence number
    for step in [*steps, *"dadada"]:
        if step == "d":
            desk.declare()
        elif step == "a" and desk.writes:
            desk.acknowledge()
        elif isinstance(step, tuple):
            gap, length = step
            offset += gap
            stands_for[offset] = sequence
            desk.put(offset, length)
            offset, sequence = offset + length, sequence + length
        for left in desk.leaving:
            assert desk.told is not None
            place = desk.told.declaration.place_of(stands_for[left])
            assert place is not None
            assert place.offset == left
    assert desk.leaving == list(stands_for)


def test_what_is_flushed_is_not_declared_again() -> None:
    desk = Desk()
    desk.put(100, 5)
    desk.put(110, 5)
    desk.gate.flushed({SOURCE: 10})
    desk.put(120, 5)
    desk.declare()
    [([note], _)] = desk.writes
    assert note.declaration.anchors == (Anchor(10, 120, 0),)


def test_far_behind_the_first_anchor_there_is_a_new_one() -> None:
    desk = Desk()
    far = SEQUENCES // 4
    desk.put(100, far)
    desk.gate.flushed({SOURCE: far})
    desk.declare()
    [([note], _)] = desk.writes
    assert note.declaration.anchors == (Anchor(far, 100 + far, 0),)
    desk.acknowledge()
    desk.put(100 + far, 5)
    assert desk.leaving == [100, 100 + far]


def test_after_a_jump_even_what_seems_to_follow_is_declared() -> None:
    desk = Desk()
    desk.put(100, 5)
    desk.gate.flushed({SOURCE: 5})
    other = "00000000-0000-0000-0000-000000000002"
    desk.gate.go_on_at(SOURCE, other, 105)
    desk.put(105, 5)
    desk.declare()
    [([note], _)] = desk.writes
    assert (note.declaration.topic_id, note.declaration.anchors) == (other, (Anchor(5, 105, 0),))
    assert desk.leaving == [100]


@pytest.mark.parametrize(
    ("last", "in_flight", "may"),
    [
        (None, [NOW], False),  # the first of a session
        (NOW, [NOW, NOW], True),
        (NOW - DAY, [NOW], False),
        (NOW, [NOW - DAY], False),
        (-1, [NOW], False),
    ],
    ids=["first of a session", "new", "behind old ones", "old ones on their way", "without a time"],
)
def test_a_batch_follows_others_only_where_brokers_cannot_have_forgotten_their_writer(
    last: int | None, in_flight: list[int], may: bool
) -> None:
    desk = Desk()
    desk.target.acknowledged = None if last is None else Acknowledged(5, last)
    desk.target.in_flight.extend(in_flight)
    assert desk.gate.may_follow(desk.target) is may


def test_nothing_leaves_while_a_position_is_missing_or_the_lease_is_not_held() -> None:
    desk = Desk()
    assert desk.gate.is_open
    desk.gate.unwritten.add(SOURCE)
    assert not desk.gate.is_open
    desk.gate.flush_begun()
    desk.gate.flushed({SOURCE: 0})
    assert desk.gate.is_open
    desk.lease.is_held = False
    with pytest.raises(BrokerUnavailable):
        _ = desk.gate.is_open


def test_the_tail_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    desk.gate.sent(20 * 1024 * 1024)
    assert desk.gate.is_open
    assert desk.gate.wants_flush
    desk.gate.sent(50 * 1024 * 1024)
    assert not desk.gate.is_open
    desk.gate.flush_begun()
    assert not desk.gate.is_open, "it is not flushed before that is acknowledged"
    desk.gate.flushed({})
    assert desk.gate.is_open
    desk.gate.sent(1)
    later = time.monotonic() + 11
    monkeypatch.setattr(declaring.time, "monotonic", lambda: later)
    assert not desk.gate.is_open
