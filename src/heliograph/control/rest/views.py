"""A running flow as our API shows it, from what the process knows itself; asks no cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable

from heliograph.config.explanation import explain_flow
from heliograph.config.option import Effect
from heliograph.config.overrides import Changes
from heliograph.config.setting import OriginKind, Setting, value_text
from heliograph.control.chores import ChoreReport
from heliograph.control.lag_watch import PartitionLag
from heliograph.control.meter import PartitionMeter
from heliograph.control.rest.answers import (
    ChoreAnswer,
    EventAnswer,
    FlowAnswer,
    FlowDetailAnswer,
    LaneAnswer,
    PartitionAnswer,
    PlaceAnswer,
    SettingAnswer,
    TopicAnswer,
)
from heliograph.control.running_flow import LaneState, RunningFlow
from heliograph.model import Assignment, Event

_NO_LAG = PartitionLag(-1, 0, 0, 0.0)
_NO_METER = PartitionMeter()


def flow_view(flow: RunningFlow) -> FlowAnswer:
    """A flow in short."""
    driver, health, whole = flow.driver, flow.health(), flow.meter.whole
    lags, window = flow.lags().values(), whole.window(int(time.time() * 1000))
    trouble = driver.trouble if driver else None
    return FlowAnswer(
        name=flow.name,
        source=flow.config.source.alias,
        target=flow.config.target.alias,
        health=health.value,
        is_good=health.is_good,
        trouble=trouble.text if trouble and trouble.is_current else "",
        states={connector.value: state.value for connector, state in flow.states.items()},
        lag_records=sum(lag.records for lag in lags),
        lag_seconds=max((lag.seconds for lag in lags), default=0.0),
        lag_known_age_seconds=flow.lag_watch.seconds_since_look() if flow.lag_watch else 0.0,
        records_per_second=window.records_per_second,
        bytes_per_second=window.bytes_per_second,
        latency_avg_ms=window.latency_avg,
        latency_max_ms=window.latency_max,
        partitions=len(driver.assignments) if driver else 0,
        set_aside=len(flow.set_aside()),
        lanes=len(flow.lanes()),
        last_commit_ms=driver.totals.last_commit_ms if driver else 0,
        records_total=whole.records,
        bytes_total=whole.bytes,
        transactions_total=flow.meter.transactions,
        failing_chores=sum(bool(report.failure) for report in flow.reports()),
    )


def flow_detail(flow: RunningFlow) -> FlowDetailAnswer:
    """A flow with its lanes and chores."""
    return FlowDetailAnswer(
        **flow_view(flow).model_dump(),
        owner=flow.driver.owner if flow.driver else "",
        chores=[_chore(report) for report in flow.reports()],
        lane_states=[_lane(lane) for lane in flow.lanes()],
    )


def _chore(report: ChoreReport) -> ChoreAnswer:
    return ChoreAnswer(
        name=report.name,
        connector=report.connector.value if report.connector else None,
        seconds=report.seconds,
        runs=report.runs,
        failures=report.failures,
        last_success_ms=report.last_success_ms,
        last_seconds=report.last_seconds,
        running_seconds=report.running_seconds,
        failure=report.failure,
        failing_since_ms=report.failing_since_ms,
        summary=report.summary,
    )


def _lane(lane: LaneState) -> LaneAnswer:
    places = [PlaceAnswer(topic=item.source.topic, partition=item.source.partition) for item in lane.assignments]
    return LaneAnswer(number=lane.number, partitions=places, failures=lane.failures, doing=lane.doing)


def event_views(events: Iterable[Event]) -> list[EventAnswer]:
    """Events, the newest first."""
    answers = [
        EventAnswer(
            at_ms=event.at_ms,
            kind=event.kind.value,
            topic=event.source.topic,
            partition=event.source.partition,
            from_offset=event.from_offset,
            to_offset=event.to_offset,
            reason=event.reason,
        )
        for event in events
    ]
    return sorted(answers, key=lambda answer: -answer.at_ms)


def partition_views(flow: RunningFlow, topic: str | None = None) -> list[PartitionAnswer]:
    """All partitions of a flow, or of one of its topics."""
    if flow.driver is None:
        return []
    lanes = {item.source: lane.number for lane in flow.lanes() for item in lane.assignments}
    lags, meters, aside = flow.lags(), flow.meter.partitions(), flow.set_aside()
    now_ms = int(time.time() * 1000)
    return [
        _partition(
            item, lags.get(item.source, _NO_LAG), meters.get(item.target, _NO_METER), now_ms,
            aside.get(item.source, ""), lanes.get(item.source),
        )
        for item in sorted(flow.driver.assignments, key=lambda item: item.source)
        if topic is None or item.source.topic == topic
    ]  # fmt: skip


def _partition(
    item: Assignment, lag: PartitionLag, meter: PartitionMeter, now_ms: int, aside: str, lane: int | None
) -> PartitionAnswer:
    window = meter.window(now_ms)
    return PartitionAnswer(
        topic=item.source.topic,
        partition=item.source.partition,
        target_topic=item.target.topic,
        mirrored_to=lag.position,
        end=lag.end,
        lag_records=lag.records,
        lag_seconds=lag.seconds,
        records=meter.records,
        bytes=meter.bytes,
        records_per_second=window.records_per_second,
        bytes_per_second=window.bytes_per_second,
        latency_avg_ms=window.latency_avg,
        latency_max_ms=window.latency_max,
        set_aside=aside,
        lane=lane,
    )


def topic_views(flow: RunningFlow) -> list[TopicAnswer]:
    """All topics of a flow."""
    topics: dict[str, list[PartitionAnswer]] = {}
    for partition in partition_views(flow):
        topics.setdefault(partition.topic, []).append(partition)
    return [_topic(name, items) for name, items in topics.items()]


def _topic(name: str, items: list[PartitionAnswer]) -> TopicAnswer:
    return TopicAnswer(
        topic=name,
        target_topic=items[0].target_topic,
        partitions=len(items),
        lag_records=sum(item.lag_records for item in items),
        lag_seconds=max(item.lag_seconds for item in items),
        records=sum(item.records for item in items),
        bytes=sum(item.bytes for item in items),
        records_per_second=sum(item.records_per_second for item in items),
        bytes_per_second=sum(item.bytes_per_second for item in items),
        set_aside=sum(bool(item.set_aside) for item in items),
    )


def setting_views(flow: RunningFlow, changes: Changes) -> list[SettingAnswer]:
    """Every setting of a flow and of its clusters as it sees them."""
    return [
        _setting(group.title, setting, changes) for group in explain_flow(flow.config) for setting in group.settings
    ]


def _setting(group: str, setting: Setting, changes: Changes) -> SettingAnswer:
    option, origin = setting.option, setting.origin
    is_changed = origin.kind is OriginKind.FILE and not origin.line
    return SettingAnswer(
        group=group,
        name=setting.name,
        value=setting.text,
        default=value_text(option.default) if option else "",
        origin="changed" if is_changed or setting.name in changes else origin.kind.value,
        line=origin.line or None,
        doc=option.doc if option else "",
        acts=option is None or option.effect is Effect.ACTS,
    )
