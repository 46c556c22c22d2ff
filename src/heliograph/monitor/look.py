"""What one look at the two clusters of a flow has shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from heliograph.monitor.lag import TopicLag


class LatencyMethod(Enum):
    """How a latency was measured."""

    ARRIVAL = "arrival"  # a heartbeat was seen to arrive
    AGE = "age"  # none arrived while we watched, so that the newest one's age is all that is known


@dataclass(frozen=True)
class Latency:
    """How long records take from source to target, or for how long none has come."""

    milliseconds: int
    method: LatencyMethod


@dataclass(frozen=True)
class Trouble:
    """Why something could not be looked at, and on which cluster."""

    cluster: str
    reason: str

    def __str__(self) -> str:
        return f"cannot look at {self.cluster}: {self.reason}"


@dataclass(frozen=True)
class Look:
    """One flow at one moment. What could not be read is missing here, and `troubles` says why."""

    source: str
    target: str
    at_ms: int
    topics: Sequence[TopicLag] = ()
    latency: Latency | None = None
    troubles: Sequence[Trouble] = ()
    notes: Sequence[str] = ()

    @property
    def flow(self) -> str:
        """`A->B`."""
        return f"{self.source}->{self.target}"

    @property
    def is_complete(self) -> bool:
        """Whether all that was asked for could be read."""
        return not self.troubles
