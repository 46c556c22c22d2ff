"""Decides what to do about a lane that is silent: ask where it hangs, end it, give it up."""

from __future__ import annotations

from enum import Enum, auto

from heliograph.engine.pulse import Pulse

ANSWER_SECONDS = 5.0  # for the answer of a thread that does nothing else; also for the end of a process
OVERSLEPT_SECONDS = 5.0  # between two looks, which are a second apart


class Step(Enum):
    """What the driver does next about a silent lane."""

    ASK = auto()  # for its stack
    END = auto()  # its process
    GIVE_UP = auto()  # and begin the whole flow anew, which locks the lane out


class LaneWatch:
    """One lane as its driver hears it; times are handed in. A lane that has no pulse at all is not watched."""

    def __init__(self) -> None:
        self.pulse: Pulse | None = None
        self.stack = ""  # where it hung when it was asked
        self._heard_at = 0.0
        self._is_served = False
        self._asked_at: float | None = None
        self._ended_at: float | None = None
        self._is_given_up = False

    @property
    def is_suspect(self) -> bool:
        """Whether it has been silent for so long that it was asked why."""
        return self._asked_at is not None

    @property
    def is_told_to_end(self) -> bool:
        """Whether its process is to end: whatever it says now comes too late."""
        return self._ended_at is not None

    def silent_for(self, now: float) -> float:
        """Seconds without a word of the lane itself."""
        return now - self._heard_at

    def heard(self, now: float, pulse: Pulse | None = None) -> None:
        """The lane has said something, and does so on: what was suspected is not so."""
        self.pulse = pulse or self.pulse
        self._heard_at = now
        if not self.is_told_to_end:
            self._asked_at, self.stack = None, ""

    def serving(self, is_served: bool, now: float) -> None:
        """We are busy with what it has told, and do not listen meanwhile; or listen again."""
        self._is_served = is_served
        self._heard_at = max(self._heard_at, now)

    def overslept(self, seconds: float) -> None:
        """We have not listened for so long ourselves, as if our own process had been frozen."""
        self._heard_at += seconds
        if self._asked_at is not None:
            self._asked_at += seconds
        if self._ended_at is not None:
            self._ended_at += seconds

    def next_step(self, now: float) -> Step | None:
        """What is to be done now; each step is said once."""
        if self.pulse is None or self._is_served or self._is_given_up:
            return None
        if self._ended_at is not None:
            if now - self._ended_at < ANSWER_SECONDS:
                return None
            self._is_given_up = True
            return Step.GIVE_UP
        if self._asked_at is None:
            if self.silent_for(now) <= self.pulse.patience:
                return None
            self._asked_at = now
            return Step.ASK
        if not self.stack and now - self._asked_at < ANSWER_SECONDS:
            return None
        self._ended_at = now
        return Step.END
