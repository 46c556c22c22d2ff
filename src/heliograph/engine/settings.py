"""How lanes and flows work: what the configuration decides and every part of the engine needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from heliograph.engine.transforming import TransformSettings
from heliograph.kafka.access import Access
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.reading import EARLIEST
from heliograph.model import InternalTopics, LeftOut

NEVER = 1e9  # seconds
_SMALLEST_FETCH = 64 * 1024


@dataclass(frozen=True)
class LaneSettings:
    """How a lane works; the same for all lanes of a flow."""

    commit_interval: float = 1.0
    limits: FetchLimits = field(default_factory=FetchLimits)
    start: int = EARLIEST  # where partitions without a position begin: earliest, latest, or a time in ms
    start_group: str = ""  # a group of the source: such partitions begin where it stands, if it stands anywhere
    goes_on_after_loss: bool = False
    is_exactly_once: bool = True
    lanes: int = 1  # that share the flow's links
    by_sequences: bool = False  # exactly once without transactions around the data
    bytes_per_second: float = 0.0  # of one lane; 0: as fast as it goes
    compression: int | None = None  # the codec to write with; None: that of the source
    transaction_timeout_ms: int = 15_000  # after it brokers abort a transaction that was left open
    most_runs: int = 100_000  # of a transaction, for brokers take no ledger entry of more than a megabyte
    transforms: TransformSettings = field(default_factory=TransformSettings)

    @property
    def commits_by_sequences(self) -> bool:
        """Whether lanes write without transactions all the same: not where records can be dropped, added or routed."""
        return self.by_sequences and self.is_exactly_once and not self.transforms.chain.is_active

    @property
    def start_may_move(self) -> bool:
        """Whether a later attempt could find another place to begin at, so that it must be written down at once."""
        return self.start != EARLIEST or bool(self.start_group)

    @property
    def longest_silence(self) -> float:
        """Seconds that a step of a lane may block: a transaction that is open for half as long is aborted already."""
        return 2 * self.transaction_timeout_ms / 1000

    def with_share_of(self, lanes: int) -> LaneSettings:
        """The same settings for one of so many lanes, which share the flow's bandwidth."""
        if not self.bytes_per_second:
            return replace(self, lanes=lanes)
        rate = self.bytes_per_second / lanes
        # Small fetches make an even flow instead of bursts and pauses.
        limits = replace(self.limits, max_bytes=max(_SMALLEST_FETCH, min(self.limits.max_bytes, int(rate / 8))))
        return replace(self, lanes=lanes, bytes_per_second=rate, limits=limits)


@dataclass(frozen=True)
class FlowSettings:
    """How a flow works."""

    name: str
    source: Access
    target: Access
    topics: InternalTopics
    left_out: Callable[[str], LeftOut] = lambda _: LeftOut()  # of a topic of the source
    max_lanes: int = 1
    refresh_seconds: float = NEVER  # between two looks for new topics and partitions
    epoch_seconds: float = 600.0  # between two epochs nothing flows for a moment, so they are long
    lane: LaneSettings = field(default_factory=LaneSettings)
