"""When to alert: a level for every subject, told when it changes, now and then while it lasts, and when it is over."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"


class Kind(Enum):
    """What an alert is about."""

    LAG = "lag"
    LATENCY = "latency"
    CANNOT_LOOK = "cannot look"


@dataclass(frozen=True)
class Subject:
    """One thing that is either well or not: a topic's lag, or a flow's latency, or whether we can look at all."""

    source: str
    target: str
    kind: Kind
    topic: str = ""

    @property
    def flow(self) -> str:
        """`A->B`."""
        return f"{self.source}->{self.target}"


@dataclass(frozen=True)
class Condition:
    """How a subject was found, in words and, where it is a number, with its threshold."""

    subject: Subject
    level: Level
    message: str
    value: int | None = None
    threshold: int | None = None


@dataclass(frozen=True)
class Alert:
    """What others are told: `condition` is the newest, `severity` the level that lasts or, at the end, that lasted."""

    condition: Condition
    severity: Level
    starts_ms: int
    ends_ms: int | None = None

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return self.condition.subject

    @property
    def is_resolved(self) -> bool:
        """Whether it is over."""
        return self.ends_ms is not None


def level_of(value: int, threshold: int) -> Level:
    """A warning above the threshold, critical above twice the threshold."""
    if value > 2 * threshold:
        return Level.CRITICAL
    return Level.WARNING if value > threshold else Level.OK


@dataclass
class _State:
    condition: Condition
    since_ms: int
    told: Level = Level.OK
    told_ms: int = 0

    @property
    def level(self) -> Level:
        return self.condition.level

    def alert(self) -> Alert:
        if self.level is Level.OK:
            return Alert(self.condition, self.told, self.since_ms, self.since_ms)
        return Alert(self.condition, self.level, self.since_ms)


class AlertBook:
    """Remembers the level of every subject, and what others were told of it."""

    def __init__(self, repeat_ms: int) -> None:
        self._repeat_ms = repeat_ms
        self._states: dict[Subject, _State] = {}

    def assess(self, conditions: Sequence[Condition], blind_flows: Collection[str], now_ms: int) -> None:
        """Take what was found. Subjects without a condition are over, but in blind flows they stay as they were."""
        for condition in conditions:
            self._take(condition, now_ms)
        found = {condition.subject for condition in conditions}
        for subject in [subject for subject in self._states if subject not in found]:
            if subject.flow not in blind_flows:
                self._take(Condition(subject, Level.OK, "is no longer there to be looked at"), now_ms)

    def firing(self) -> list[Alert]:
        """All that is not well at present."""
        return [state.alert() for state in self._states.values() if state.level is not Level.OK]

    def due(self, now_ms: int) -> list[Alert]:
        """What others should be told now: changes, ends, and what lasts since the last time that it was told."""
        return [state.alert() for state in self._states.values() if self._is_due(state, now_ms)]

    def told(self, alert: Alert, now_ms: int) -> None:
        """An alert has been delivered; without this it stays due."""
        state = self._states[alert.subject]
        state.told, state.told_ms = alert.condition.level, now_ms
        self._forget_if_well(state)

    def _take(self, condition: Condition, now_ms: int) -> None:
        state = self._states.setdefault(condition.subject, _State(condition, now_ms))
        if condition.level is not state.level:
            state.since_ms = now_ms
        state.condition = condition
        self._forget_if_well(state)

    def _forget_if_well(self, state: _State) -> None:
        if state.level is Level.OK and state.told is Level.OK:
            del self._states[state.condition.subject]

    def _is_due(self, state: _State, now_ms: int) -> bool:
        if state.level is not state.told:
            return True
        return now_ms - state.told_ms >= self._repeat_ms


class PostedAlerts:
    """What an Alertmanager was told to be firing: it wants that again and again, and an end to each.

    It knows alerts by their labels, the severity among them, so that a change of level ends one and begins another.
    """

    def __init__(self) -> None:
        self._posted: dict[tuple[Subject, Level], Alert] = {}

    def batch(self, firing: Sequence[Alert], now_ms: int) -> list[Alert]:
        """All that fires, and an end to what was posted and fires no more."""
        current = {_identity(alert) for alert in firing}
        ended = [alert for identity, alert in self._posted.items() if identity not in current]
        return [*firing, *(Alert(alert.condition, alert.severity, alert.starts_ms, now_ms) for alert in ended)]

    def posted(self, batch: Sequence[Alert]) -> None:
        """A batch has been delivered; without this its ends are posted again."""
        self._posted = {_identity(alert): alert for alert in batch if not alert.is_resolved}


def _identity(alert: Alert) -> tuple[Subject, Level]:
    return alert.subject, alert.severity
