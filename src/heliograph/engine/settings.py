"""How lanes and flows work: what the configuration decides and every part of the engine needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from heliograph.kafka.access import Access
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.reading import EARLIEST


@dataclass(frozen=True)
class LaneSettings:
    """How a lane works; the same for all lanes of a flow."""

    commit_interval: float = 1.0
    limits: FetchLimits = field(default_factory=FetchLimits)
    start: int = EARLIEST  # where partitions without a position begin: earliest, latest, or a time in ms
    goes_on_after_loss: bool = False
    is_exactly_once: bool = True


@dataclass(frozen=True)
class FlowSettings:
    """How a flow works."""

    name: str
    source: Access
    target: Access
    offsets_topic: str
    ledger_topic: str
    opposite_ledger: str = ""
    max_lanes: int = 1
    epoch_seconds: float = 60.0
    lane: LaneSettings = field(default_factory=LaneSettings)
