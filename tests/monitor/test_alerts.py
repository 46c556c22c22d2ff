"""Alerts are told when a level changes, now and then while it lasts, and when it is over."""

from __future__ import annotations

import pytest

from heliograph.monitor.alerts import Alert, AlertBook, Condition, Kind, Level, PostedAlerts, Subject, level_of

_REPEAT = 3_600_000
_ORDERS = Subject("a", "b", Kind.LAG, "orders")
_USERS = Subject("a", "b", Kind.LAG, "users")
_ELSEWHERE = Subject("a", "c", Kind.LAG, "orders")


def _condition(level: Level, subject: Subject = _ORDERS, value: int = 0) -> Condition:
    return Condition(subject, level, f"{level.value} {value}", value, 10)


class _Story:
    """A book, and a receiver that takes everything while `is_reachable`."""

    def __init__(self) -> None:
        self.book = AlertBook(_REPEAT)
        self.is_reachable = True

    def round(self, now_ms: int, *conditions: Condition, blind: tuple[str, ...] = ()) -> list[tuple[str, str, bool]]:
        """What is sent: topic, severity, whether resolved."""
        self.book.assess(conditions, blind, now_ms)
        due = self.book.due(now_ms)
        for alert in due if self.is_reachable else ():
            self.book.told(alert, now_ms)
        return [(alert.subject.topic, alert.severity.value, alert.is_resolved) for alert in due]

    def levels(self) -> list[Level]:
        return [alert.severity for alert in self.book.firing()]


@pytest.fixture
def story() -> _Story:
    return _Story()


@pytest.mark.parametrize(
    ("value", "level"), [(0, Level.OK), (10, Level.OK), (11, Level.WARNING), (20, Level.WARNING), (21, Level.CRITICAL)]
)
def test_above_the_threshold_is_a_warning_and_above_twice_as_much_critical(value: int, level: Level) -> None:
    assert level_of(value, 10) is level


def test_a_threshold_of_zero_knows_no_warning() -> None:
    assert [level_of(value, 0) for value in (0, 1)] == [Level.OK, Level.CRITICAL]


def test_every_change_of_level_is_told_once(story: _Story) -> None:
    assert story.round(0, _condition(Level.OK)) == []
    assert story.round(1, _condition(Level.WARNING)) == [("orders", "warning", False)]
    assert story.round(2, _condition(Level.WARNING)) == []
    assert story.round(3, _condition(Level.CRITICAL)) == [("orders", "critical", False)]
    assert story.round(4, _condition(Level.WARNING)) == [("orders", "warning", False)]
    assert story.round(5, _condition(Level.OK)) == [("orders", "warning", True)]
    assert story.round(6, _condition(Level.OK)) == []
    assert story.levels() == []


def test_what_lasts_is_told_again_after_the_pause(story: _Story) -> None:
    story.round(0, _condition(Level.WARNING))
    assert story.round(_REPEAT - 1, _condition(Level.WARNING)) == []
    assert story.round(_REPEAT, _condition(Level.WARNING)) == [("orders", "warning", False)]
    assert story.round(_REPEAT + 1, _condition(Level.WARNING)) == []


def test_what_was_not_delivered_stays_due(story: _Story) -> None:
    story.is_reachable = False
    assert story.round(0, _condition(Level.WARNING)) == [("orders", "warning", False)]
    assert story.round(1, _condition(Level.CRITICAL)) == [("orders", "critical", False)]
    story.is_reachable = True
    assert story.round(2, _condition(Level.CRITICAL)) == [("orders", "critical", False)]
    assert story.round(3, _condition(Level.CRITICAL)) == []
    story.is_reachable = False
    assert story.round(4, _condition(Level.OK)) == [("orders", "critical", True)]
    assert story.round(5, _condition(Level.OK)) == [("orders", "critical", True)]
    story.is_reachable = True
    assert story.round(6, _condition(Level.OK)) == [("orders", "critical", True)]
    assert story.round(7, _condition(Level.OK)) == []


def test_the_end_of_what_nobody_was_told_is_not_told(story: _Story) -> None:
    story.is_reachable = False
    story.round(0, _condition(Level.WARNING))
    assert story.round(1, _condition(Level.OK)) == []


def test_each_subject_has_a_level_of_its_own(story: _Story) -> None:
    story.round(0, _condition(Level.WARNING), _condition(Level.OK, _USERS))
    assert story.round(1, _condition(Level.WARNING), _condition(Level.CRITICAL, _USERS)) == [
        ("users", "critical", False)
    ]


def test_a_topic_that_is_gone_is_resolved(story: _Story) -> None:
    story.round(0, _condition(Level.WARNING))
    assert story.round(1) == [("orders", "warning", True)]


def test_what_cannot_be_seen_is_neither_resolved_nor_repeated_early(story: _Story) -> None:
    story.round(0, _condition(Level.WARNING), _condition(Level.WARNING, _ELSEWHERE))
    assert story.round(1, blind=("a->b",)) == [("orders", "warning", True)]
    assert story.levels() == [Level.WARNING]
    assert story.book.firing()[0].subject == _ORDERS
    assert story.round(2, _condition(Level.OK)) == [("orders", "warning", True)]


def test_an_alert_begins_when_its_level_does_and_tells_the_newest_value(story: _Story) -> None:
    story.round(5, _condition(Level.WARNING, value=11))
    story.round(6, _condition(Level.WARNING, value=12))
    (alert,) = story.book.firing()
    assert (alert.starts_ms, alert.ends_ms, alert.condition.value) == (5, None, 12)
    story.round(7, _condition(Level.CRITICAL, value=30))
    assert story.book.firing()[0].starts_ms == 7


def _firing(severity: Level, since: int = 0) -> Alert:
    return Alert(_condition(severity), severity, since)


def test_an_alertmanager_hears_every_round_of_what_fires_and_of_its_end_until_delivered() -> None:
    posted = PostedAlerts()
    warning = _firing(Level.WARNING)
    for _ in range(2):
        batch = posted.batch([warning], 1)
        assert batch == [warning]
        posted.posted(batch)
    for now in (2, 3):
        assert [(item.severity, item.ends_ms) for item in posted.batch([], now)] == [(Level.WARNING, now)]
    posted.posted(posted.batch([], 4))
    assert posted.batch([], 5) == []


def test_for_an_alertmanager_a_change_of_level_ends_one_alert_and_begins_another() -> None:
    posted = PostedAlerts()
    posted.posted(posted.batch([_firing(Level.WARNING)], 1))
    critical = _firing(Level.CRITICAL, 2)
    batch = posted.batch([critical], 2)
    assert batch[0] == critical
    assert [(item.severity, item.starts_ms, item.ends_ms) for item in batch[1:]] == [(Level.WARNING, 0, 2)]
