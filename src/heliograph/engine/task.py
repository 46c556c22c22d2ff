"""What one Spark task gets to do: a lane of an epoch, with everything it needs."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.engine.parcel import Parcel
from heliograph.engine.settings import LaneSettings
from heliograph.kafka.access import Access
from heliograph.model import LanePlan


@dataclass(frozen=True)
class LaneTask(Parcel):
    """One lane of one epoch, secrets included: it travels pickled and is never printed."""

    plan: LanePlan
    source: Access
    target: Access
    settings: LaneSettings
    seconds: float
