"""How one flow stands at one moment, in the shape of metrics' rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heliograph.control.chores import ChoreReport
from heliograph.control.connector import Connector, RunState
from heliograph.control.duties import GROUP_OFFSETS
from heliograph.control.lag_watch import PartitionLag
from heliograph.control.meter import PartitionMeter
from heliograph.control.metrics.partition_view import (
    OTHER,
    CountedPartitions,
    CountView,
    PartitionView,
    Waiting,
    latency_of,
    most_troubled,
    split,
)
from heliograph.control.metrics.recorder import FlowRecorder
from heliograph.control.running_flow import FlowHealth, RunningFlow
from heliograph.model import EventKind, TopicPartition

_CHECKPOINTS = "checkpoints"
_BLIND_SECONDS = 10.0  # the source is asked every five


@dataclass(frozen=True)
class ChoreView:
    """One chore of a flow."""

    source: str
    target: str
    report: ChoreReport
    age_seconds: float  # since it last went well

    @property
    def is_failing(self) -> bool:
        """Whether its last run went wrong."""
        return bool(self.report.failure)


@dataclass(frozen=True)
class ConnectorView:
    """One connector of a flow, as Kafka Connect would count its tasks."""

    source: str
    target: str
    connector: Connector
    state: RunState
    running: int = 0
    paused: int = 0
    failed: int = 0
    unassigned: int = 0

    @property
    def tasks(self) -> int:
        """All its tasks."""
        return self.running + self.paused + self.failed + self.unassigned

    @property
    def status(self) -> str:
        """Its state in Kafka Connect's words."""
        if self.state is not RunState.RUNNING:
            return self.state.name.lower()
        return "failed" if self.failed else "unassigned" if self.unassigned else "running"


@dataclass(frozen=True)
class CheckpointView:
    """How long writing down the place of one group in one target partition took, in milliseconds."""

    source: str
    target: str
    group: str
    where: TopicPartition
    last: float
    seen: Sequence[float]


@dataclass(frozen=True)
class TopicView:
    """What of a source topic waits."""

    source: str
    target: str
    topic: str
    lag_records: int


@dataclass(frozen=True)
class FlowView:
    """A flow with all its rows."""

    flow: RunningFlow
    recorder: FlowRecorder
    health: FlowHealth
    partitions: Sequence[PartitionView]
    counts: Sequence[CountView]
    topics: Sequence[TopicView]
    chores: Sequence[ChoreView]
    connectors: Sequence[ConnectorView]
    checkpoints: Sequence[CheckpointView]
    events: Mapping[EventKind, int]
    newest_events: Mapping[EventKind, int]
    partition_count: int
    left_out: int  # partitions and checkpoints without series of their own
    lag_records: int
    lag_seconds: float
    rpo_seconds: float
    look_age_seconds: float
    settings_age_seconds: float
    now_ms: int

    @property
    def source(self) -> str:
        """The alias of the source."""
        return self.flow.config.source.alias

    @property
    def target(self) -> str:
        """The alias of the target."""
        return self.flow.config.target.alias

    @property
    def group_sync_age_seconds(self) -> float | None:
        """Since the places of groups were last written to the target; None if nobody asked for that."""
        ages = {chore.report.name: chore.age_seconds for chore in self.chores}
        return ages.get(GROUP_OFFSETS, ages.get(_CHECKPOINTS))

    @property
    def latency_ms(self) -> float | None:
        """From a record's own time to its commit: the last minute's, or how long one waits if that is longer."""
        waited = self.rpo_seconds * 1000
        whole = self.flow.meter.whole
        if not whole.last_commit_ms:
            return waited or None
        minute = whole.window(self.now_ms)
        seen = minute.latency_avg if minute.records_per_second else float(whole.latency_ms)
        return round(max(seen, waited), 3)


class FlowLooker:
    """Looks at one flow again and again, and remembers what that takes."""

    def __init__(self, flow: RunningFlow) -> None:
        self._flow = flow
        self._recorder = FlowRecorder(flow)
        self._counted = CountedPartitions()

    def look(self, retention: Mapping[str, float], settings_age: float, most: int) -> FlowView:
        """How the flow stands now; at most so many partitions on their own."""
        flow, now_ms = self._flow, int(time.time() * 1000)
        waiting = self._waiting(retention)
        meters = flow.meter.partitions()
        partitions = self._partitions(waiting, meters, now_ms)
        checkpoints, silent = split(self._checkpoints(), most, lambda item: (-item.last, item.group, item.where))
        lag_seconds = max((item.seconds for item in waiting.values()), default=0.0)
        look_age = flow.lag_watch.seconds_since_look() if flow.lag_watch else 0.0
        health = flow.health()
        return FlowView(
            flow=flow,
            recorder=self._recorder,
            health=health,
            partitions=most_troubled(partitions, most),
            counts=self._counts(meters, most),
            topics=self._topics(waiting, most),
            chores=self._chores(now_ms),
            connectors=_connectors(flow, health),
            checkpoints=checkpoints,
            events=self._recorder.events(),
            newest_events=self._recorder.newest_events(),
            partition_count=len(partitions),
            left_out=max(0, len(partitions) - most) + len(silent),
            lag_records=sum(item.records for item in waiting.values()),
            lag_seconds=lag_seconds,
            rpo_seconds=round(max(lag_seconds, self._recorder.unowned_seconds(), _blind(look_age)), 3),
            look_age_seconds=round(look_age, 3),
            settings_age_seconds=round(settings_age, 3),
            now_ms=now_ms,
        )

    def _waiting(self, retention: Mapping[str, float]) -> dict[TopicPartition, Waiting]:
        driver, lags = self._flow.driver, self._flow.lags()
        if driver is None:
            return {}
        stalled = self._recorder.stalled_seconds(lags, driver.mirrored_offsets())
        return {where: _waiting(lag, stalled[where], retention.get(where.topic)) for where, lag in lags.items()}

    def _partitions(
        self,
        waiting: Mapping[TopicPartition, Waiting],
        meters: Mapping[TopicPartition, PartitionMeter],
        now_ms: int,
    ) -> list[PartitionView]:
        driver, config = self._flow.driver, self._flow.config
        if driver is None:
            return []
        source, target = config.source.alias, config.target.alias
        aside = self._flow.set_aside()
        views: list[PartitionView] = []
        for item in driver.assignments:
            meter, waits = meters.get(item.target), waiting.get(item.source)
            minute = meter.window(now_ms) if meter else None
            views.append(
                PartitionView(
                    source,
                    target,
                    item.source.topic,
                    item.target.topic,
                    str(item.source.partition),
                    round(minute.records_per_second, 3) if minute else 0.0,
                    round(minute.bytes_per_second, 3) if minute else 0.0,
                    latency_of(meter, minute, waits),
                    waits,
                    item.source in aside,
                )
            )
        return views

    def _counts(self, meters: Mapping[TopicPartition, PartitionMeter], most: int) -> list[CountView]:
        driver, config = self._flow.driver, self._flow.config
        assigned = [item.target for item in driver.assignments] if driver else []
        own = self._counted.own([*assigned, *meters], most)
        ends = config.source.alias, config.target.alias
        none = PartitionMeter()
        found = [(where, meters.get(where, none)) for where in own]
        views = [
            CountView(*ends, where.topic, str(where.partition), meter.records, meter.bytes) for where, meter in found
        ]
        rest = [meter for where, meter in meters.items() if where not in own]
        if rest or len(own) < len(set(assigned)):
            records, size = sum(meter.records for meter in rest), sum(meter.bytes for meter in rest)
            views.append(CountView(*ends, OTHER, OTHER, records, size))
        return views

    def _topics(self, waiting: Mapping[TopicPartition, Waiting], most: int) -> list[TopicView]:
        config = self._flow.config
        sums: dict[str, int] = {}
        for where, item in waiting.items():
            sums[where.topic] = sums.get(where.topic, 0) + item.records
        own, rest = split(list(sums.items()), most, lambda item: (-item[1], item[0]))
        if rest:
            own.append((OTHER, sum(records for _, records in rest)))
        return [TopicView(config.source.alias, config.target.alias, topic, records) for topic, records in own]

    def _chores(self, now_ms: int) -> list[ChoreView]:
        config, reports = self._flow.config, self._flow.reports()
        successes = self._recorder.last_successes_ms(reports)
        return [
            ChoreView(
                config.source.alias,
                config.target.alias,
                report,
                max(0.0, (now_ms - successes[report.name]) / 1000),
            )
            for report in reports
        ]

    def _checkpoints(self) -> list[CheckpointView]:
        config = self._flow.config
        return [
            CheckpointView(config.source.alias, config.target.alias, group, where, round(last, 3), seen)
            for (group, where), (last, seen) in self._recorder.checkpoint_milliseconds().items()
        ]


def _blind(look_age: float) -> float:
    return look_age if look_age > _BLIND_SECONDS else 0.0


def _waiting(lag: PartitionLag, stalled: float, kept: float | None) -> Waiting:
    """A record whose own time is missing or in the future gets old all the same while its partition stands still."""
    seconds = round(max(lag.seconds, stalled), 3)
    return Waiting(lag.records, seconds, round(stalled, 3), None if kept is None else round(kept - seconds, 3))


def _connectors(flow: RunningFlow, health: FlowHealth) -> list[ConnectorView]:
    return [_connector(flow, connector, state, health) for connector, state in flow.states.items()]


def _connector(flow: RunningFlow, connector: Connector, state: RunState, health: FlowHealth) -> ConnectorView:
    ends = flow.config.source.alias, flow.config.target.alias
    total, failed = _tasks(flow, connector, health)
    if state is RunState.STOPPED:
        return ConnectorView(*ends, connector, state)
    if state is RunState.PAUSED:
        return ConnectorView(*ends, connector, state, paused=total)
    if connector is not Connector.HEARTBEAT and health is FlowHealth.STARTING:
        return ConnectorView(*ends, connector, state, unassigned=total)
    return ConnectorView(*ends, connector, state, running=total - failed, failed=failed)


def _tasks(flow: RunningFlow, connector: Connector, health: FlowHealth) -> tuple[int, int]:
    """How many tasks a connector has, and how many of them fail."""
    chores = [report for report in flow.reports() if report.connector is connector]
    if connector is not Connector.SOURCE:
        has_ended = connector is Connector.CHECKPOINT and health is FlowHealth.ENDED
        return (1, int(has_ended or any(report.failure for report in chores))) if chores else (0, 0)
    lanes = flow.lanes()
    total = max(1, len(lanes))
    if health in (FlowHealth.ENDED, FlowHealth.FAILING):
        return total, total
    return total, sum(bool(lane.failures) for lane in lanes)
