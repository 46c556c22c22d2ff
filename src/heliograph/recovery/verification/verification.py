"""Proof that a target equals its source: what was compared, what differs, and what was left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.model import TopicPartition
from heliograph.recovery.verification.comparison import SliceResult, opened_sides
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.plan import PlannedPartition, Scope, VerificationPlan, plan_verification


@dataclass(frozen=True)
class Progress:
    """How far a verification has come."""

    done_bytes: int  # of the source's log
    total_bytes: int  # about
    slices: int
    total_slices: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """The rate so far."""
        return self.done_bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at this rate; none while there is no telling."""
        rate = self.bytes_per_second
        return max(0, self.total_bytes - self.done_bytes) / rate if rate else None


@dataclass(frozen=True)
class PartitionResult:
    """What was found in one partition."""

    source: TopicPartition
    target: TopicPartition
    records: int
    bytes: int
    opened: int
    difference: Difference | None
    left_out: Sequence[str]
    waiting: int  # offsets of the source that are not mirrored yet
    by_key: bool


@dataclass(frozen=True)
class Verification:
    """What came of comparing a flow's target with its source."""

    flow: str
    partitions: Sequence[PartitionResult]
    seconds: float
    notes: Sequence[str] = ()

    @property
    def is_equal(self) -> bool:
        """Whether all that was compared is the same."""
        return not self.differences

    @property
    def records(self) -> int:
        """How many records were compared."""
        return sum(item.records for item in self.partitions)

    @property
    def bytes(self) -> int:
        """How much of the source's log was compared."""
        return sum(item.bytes for item in self.partitions)

    @property
    def waiting(self) -> int:
        """Offsets of the source that are not mirrored yet."""
        return sum(item.waiting for item in self.partitions)

    @property
    def differences(self) -> list[Difference]:
        """The first difference of each partition that has one."""
        return [item.difference for item in self.partitions if item.difference is not None]

    @property
    def left_out(self) -> list[str]:
        """What was not compared, and why."""
        return [*self.notes, *(f"{item.source}: {note}" for item in self.partitions for note in item.left_out)]


def verify_locally(
    config: MirrorConfig,
    flow: FlowConfig,
    since_ms: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Verification:
    """Compare all that is mirrored, or only what is as new as that, in this process: for small work."""
    del config  # all that is needed of the flow back is on the source
    return verify_slices(plan_verification(flow, Scope(since_ms=since_ms)), progress)


def verify_slices(plan: VerificationPlan, progress: Callable[[Progress], None] | None = None) -> Verification:
    """Do the work of a plan in this process, one slice after the other."""
    tally = Tally(plan, progress)
    with opened_sides(plan.source, plan.target, plan.rules, plan.view) as sides:
        for part in plan.slices():
            tally.add(sides.compare(part))
    return tally.result()


@dataclass
class Tally:
    """Puts the results of slices together, in whatever order and how often they come: each slice counts once."""

    plan: VerificationPlan
    progress: Callable[[Progress], None] | None = None
    _results: dict[int, SliceResult] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._slices = self.plan.slices()
        self._sizes = [part.segment.bytes for part in self._slices]
        self._total_bytes, self._done_bytes, self._guessed = sum(self._sizes), 0, 0.0
        self._tell()

    def add(self, result: SliceResult) -> None:
        """Take in what came of one slice."""
        if result.number not in self._results:
            self._done_bytes += self._sizes[result.number]
        self._results[result.number] = result
        self._tell(self._done_bytes, len(self._results))

    def guess(self, share: float) -> None:
        """Tell how far the work has come while its results are still elsewhere."""
        self._guessed = max(self._guessed, share)
        self._tell(0, 0)

    def _tell(self, done_bytes: int = 0, slices: int = 0) -> None:
        if self.progress is None:
            return
        done_bytes = max(done_bytes, int(self._total_bytes * self._guessed))
        slices = max(slices, int(len(self._slices) * self._guessed))
        seconds = time.monotonic() - self._began
        self.progress(Progress(done_bytes, self._total_bytes, slices, len(self._slices), seconds))

    def result(self) -> Verification:
        """All together."""
        by_partition: dict[TopicPartition, list[SliceResult]] = {}
        for part in self._slices:
            by_partition.setdefault(part.source, []).append(self._results[part.number])
        partitions = [_together(item, by_partition.get(item.source, ())) for item in self.plan.partitions]
        return Verification(self.plan.flow, partitions, time.monotonic() - self._began, self.plan.left_out)


def _together(planned: PlannedPartition, results: Iterable[SliceResult]) -> PartitionResult:
    results = list(results)
    times = sum(result.times_left_out for result in results)
    notes = [*planned.coverage.left_out, *(result.left_out for result in results if result.left_out)]
    if times:
        notes.append(f"the times of {times:,} records: the target's brokers set their own (LogAppendTime)")
    return PartitionResult(
        planned.source,
        planned.target,
        sum(result.records for result in results),
        sum(result.bytes for result in results),
        sum(result.opened for result in results),
        next((result.difference for result in results if result.difference is not None), None),
        notes,
        planned.coverage.waiting,
        planned.by_key,
    )
