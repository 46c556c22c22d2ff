"""What the target refuses is tried again a few at a time: others hardly notice, and what was repaired goes on soon."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from heliograph.engine.trials import Trials
from heliograph.model import TopicPartition

MANY = [TopicPartition("t", number) for number in range(200)]
REASON = "the target refuses it: INVALID_RECORD"
FIRST_REST = 60.0


@dataclass
class Attempts:
    """A lane whose sessions end with what the target refuses, so many partitions with each answer."""

    bad: Collection[TopicPartition]
    told: dict[TopicPartition, str]
    in_one_answer: int = 4
    has_news: bool = True  # whether partitions that are well have something to copy
    now: float = 0.0
    failed_at: list[float] = field(default_factory=list)
    tried: list[TopicPartition] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.aside = dict(self.told)
        self.trials = Trials(self.aside, FIRST_REST)

    def run(self, seconds: float) -> None:
        """As a lane does, with a step of copying each half second."""
        while self.now < seconds:
            if self.trials.is_due(self.now):
                self.trials.let_in(self.now)
            refused = [where for where in MANY if where in self.bad and where not in self.aside][: self.in_one_answer]
            self.tried += [where for where in self.told if where not in self.aside]
            if refused:
                self.failed_at.append(self.now)
                self.aside.update(dict.fromkeys(refused, REASON))
                self.trials.refused(refused, self.now)
                continue
            while not self.trials.is_due(self.now) and self.now < seconds:
                self.now += 0.5
                if self.has_news:
                    self.trials.went_on([where for where in MANY if where not in self.aside], self.now)


def told(partitions: Collection[TopicPartition], reason: str = REASON) -> dict[TopicPartition, str]:
    return dict.fromkeys(partitions, reason)


@pytest.mark.parametrize("in_one_answer", [1, 4, 1000])
def test_the_others_copy_between_any_two_attempts_that_fail(in_one_answer: int) -> None:
    attempts = Attempts(MANY, told(MANY), in_one_answer)
    attempts.run(1800.0)
    pauses = [after - before for before, after in zip(attempts.failed_at, attempts.failed_at[1:], strict=False)]
    assert min(pauses) >= 2.0


def test_every_one_is_tried_again_and_again() -> None:
    attempts = Attempts(MANY, told(MANY))
    attempts.run(1800.0)
    assert all(attempts.tried.count(where) >= 3 for where in MANY)


def test_where_one_answer_refuses_all_that_were_let_in_more_are_let_in() -> None:
    attempts = Attempts(MANY, told(MANY), in_one_answer=1000)
    attempts.run(FIRST_REST)
    assert len(attempts.failed_at) == 5  # 8, 16, 32, 64 and the rest


@pytest.mark.parametrize(("has_news", "seconds"), [(True, 4.0), (False, 12.0)])
def test_what_was_repaired_goes_on_soon_however_much_it_is(has_news: bool, seconds: float) -> None:
    attempts = Attempts([], told(MANY), has_news=has_news)
    attempts.run(seconds)
    assert not attempts.aside


def test_one_that_was_repaired_among_many_goes_on_within_minutes() -> None:
    attempts = Attempts(MANY[:-1], told(MANY))
    attempts.run(300.0)
    assert MANY[-1] not in attempts.aside


def test_a_few_are_tried_at_once() -> None:
    attempts = Attempts([], told(MANY[:8]))
    attempts.run(0.01)
    assert not attempts.aside


def test_what_costs_nobody_anything_is_tried_all_at_once() -> None:
    attempts = Attempts([], {})
    attempts.aside.update(told(MANY, "the batch at offset 15 fails its checksum on the source"))
    attempts.run(FIRST_REST)
    assert attempts.aside
    attempts.run(FIRST_REST + 0.5)
    assert not attempts.aside


def test_those_that_would_be_refused_alike_are_not_tried_one_after_the_other() -> None:
    aside = told(MANY)
    trials = Trials(aside, FIRST_REST)
    trials.let_in(0.0)
    aside.update(told(MANY))
    trials.refused(MANY, 0.0)
    assert not trials.is_due(0.0)
    assert not trials.is_due(59.0)
    assert trials.is_due(60.0)
