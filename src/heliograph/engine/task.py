"""What one Spark task gets to do: a lane of an epoch, with everything it needs."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

from heliograph.engine.settings import LaneSettings
from heliograph.kafka.access import Access
from heliograph.model import LanePlan


@dataclass(frozen=True)
class LaneTask:
    """One lane of one epoch, secrets included: it travels pickled and is never printed."""

    epoch: int
    plan: LanePlan
    source: Access
    target: Access
    settings: LaneSettings
    seconds: float

    def packed(self) -> bytes:
        """For the way through Spark's planning processes, which need not know what is inside."""
        return pickle.dumps(self)

    @staticmethod
    def unpacked(data: bytes) -> LaneTask:
        """The task again, in the process that runs it."""
        task = pickle.loads(data)  # noqa: S301 - comes from our own driver, over a guarded connection
        assert isinstance(task, LaneTask)
        return task
