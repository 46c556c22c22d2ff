"""Metrics that only Heliograph has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from heliograph.control.connector import RunState
from heliograph.control.metrics.conflict_view import ConflictsView, TopicConflicts
from heliograph.control.metrics.flow_view import ChoreView, ConnectorView, FlowView
from heliograph.control.metrics.metric import Group, Kind, Metric, Value
from heliograph.control.metrics.mirror_view import MirrorView, versions
from heliograph.control.metrics.partition_view import PartitionView
from heliograph.control.metrics.slow_facts import Certificate
from heliograph.control.running_flow import FlowHealth
from heliograph.engine.flow import FlowDriver
from heliograph.model import EventKind

_FLOW: Final = ("source", "target")


def _flow(name: str, kind: Kind, text: str, read: Callable[[FlowView], Value]) -> Metric[FlowView]:
    return Metric(f"heliograph_{name}", kind, text, read)


def _of_driver(read: Callable[[FlowDriver], float]) -> Callable[[FlowView], Value]:
    return lambda row: read(row.flow.driver) if row.flow.driver else None


def _last_commit_age(row: FlowView) -> Value:
    last_ms = row.flow.meter.whole.last_commit_ms
    return max(0.0, round(time.time() - last_ms / 1000, 3)) if last_ms else None


def _in_trouble(driver: FlowDriver) -> float:
    return int(driver.trouble is not None and driver.trouble.is_current)


def _ahead(row: FlowView) -> Value:
    seconds = row.recorder.seconds_ahead()
    return None if seconds is None else round(seconds, 3)


def _verified_lag(row: FlowView) -> Value:
    verified = row.flow.meter.verified
    return round(verified.lag_seconds(row.now_ms), 3) if verified.is_on else None


FLOWS: Final = Group[FlowView](
    "Flows",
    _FLOW,
    lambda view: view.flows,
    lambda row: (row.source, row.target),
    (_flow("flow_healthy", Kind.GAUGE, "1 if nobody needs to look, else 0.", lambda row: int(row.health.is_good)),),
)

MIRRORED: Final = Group[FlowView](
    "Flows that mirror records",
    _FLOW,
    lambda view: view.mirrored,
    lambda row: (row.source, row.target),
    (
        _flow("lag_records", Kind.GAUGE, "Offsets that are still to be mirrored.", lambda row: row.lag_records),
        _flow(
            "lag_seconds",
            Kind.GAUGE,
            "For how long the first record has waited in the partition that is furthest behind, by its own time, or "
            "since its partition stands still. Grows while the source cannot be asked.",
            lambda row: row.lag_seconds,
        ),
        _flow(
            "rpo_seconds",
            Kind.GAUGE,
            "What would be lost if the source were gone now: lag_seconds, or for how long the flow has not been ours "
            "or the source could not be asked, if that is longer.",
            lambda row: row.rpo_seconds,
        ),
        _flow(
            "lag_look_age_seconds",
            Kind.GAUGE,
            "Since the source was last asked where its partitions end.",
            lambda row: row.look_age_seconds,
        ),
        _flow("records_total", Kind.COUNTER, "Records mirrored.", lambda row: row.flow.meter.whole.records),
        _flow("bytes_total", Kind.COUNTER, "Bytes of record batches mirrored.", lambda row: row.flow.meter.whole.bytes),
        _flow(
            "records_filtered_total",
            Kind.COUNTER,
            "Records that a transform left out.",
            lambda row: row.flow.meter.whole.dropped,
        ),
        _flow(
            "dead_letters_total",
            Kind.COUNTER,
            "Records that could not be transformed and went to the dead letters.",
            lambda row: row.flow.meter.whole.failed,
        ),
        _flow("transactions_total", Kind.COUNTER, "Transactions committed.", lambda row: row.flow.meter.transactions),
        _flow(
            "last_commit_age_seconds",
            Kind.GAUGE,
            "Since a transaction was last committed; absent before the first.",
            _last_commit_age,
        ),
        _flow(
            "commit_latency_seconds",
            Kind.HISTOGRAM,
            "From when all records of a transaction were written to when it was known to be committed.",
            lambda row: row.recorder.commit_seconds(),
        ),
        _flow(
            "transaction_records",
            Kind.HISTOGRAM,
            "Records of a transaction.",
            lambda row: row.recorder.transaction_records(),
        ),
        _flow(
            "transaction_bytes",
            Kind.HISTOGRAM,
            "Bytes of a transaction's record batches.",
            lambda row: row.recorder.transaction_bytes(),
        ),
        _flow("partitions", Kind.GAUGE, "Partitions that are mirrored.", lambda row: row.partition_count),
        _flow(
            "set_aside_partitions",
            Kind.GAUGE,
            "Partitions that cannot go on for now; they are tried again.",
            lambda row: len(row.flow.set_aside()),
        ),
        _flow("lanes", Kind.GAUGE, "Lanes that copy side by side.", _of_driver(lambda driver: len(driver.lanes))),
        _flow(
            "lane_retries_total",
            Kind.COUNTER,
            "Lanes that Spark had to start again within an epoch.",
            _of_driver(lambda driver: driver.lane_retries),
        ),
        _flow(
            "lanes_ended_total",
            Kind.COUNTER,
            "Lanes whose process was ended because they hung. The log says where.",
            _of_driver(lambda driver: driver.lanes_ended),
        ),
        _flow(
            "query_restarts_total",
            Kind.COUNTER,
            "How often the whole flow had to begin again after a failure.",
            _of_driver(lambda driver: driver.restarts),
        ),
        _flow(
            "flow_in_trouble",
            Kind.GAUGE,
            "1 while lanes or the whole flow say that something holds them up, such as a broker that does not "
            "answer or refuses, else 0.",
            _of_driver(_in_trouble),
        ),
        _flow(
            "group_sync_age_seconds",
            Kind.GAUGE,
            "Since the places of consumer groups were last written to the target; grows while that fails or is "
            "paused. Absent if neither group offsets nor checkpoints are wanted.",
            lambda row: row.group_sync_age_seconds,
        ),
        _flow(
            "record_time_ahead_seconds",
            Kind.GAUGE,
            "How far the newest record of the last five minutes was ahead of this machine's clock: above 0, the "
            "clock of a producer, of the source or of this machine is wrong. Absent without records.",
            _ahead,
        ),
        _flow(
            "verification_mismatches_total",
            Kind.COUNTER,
            "Differences between source and target that continuous verification has found.",
            lambda row: row.flow.meter.verified.mismatches,
        ),
        _flow(
            "verified_records_total",
            Kind.COUNTER,
            "Records that continuous verification has compared with their source.",
            lambda row: row.flow.meter.verified.records,
        ),
        _flow(
            "verified_bytes_total",
            Kind.COUNTER,
            "Bytes of the source's log that continuous verification has compared.",
            lambda row: row.flow.meter.verified.bytes,
        ),
        _flow(
            "verification_passed_over_bytes_total",
            Kind.COUNTER,
            "Bytes that continuous verification has not compared: mirrored faster than it may read, compacted, "
            "removed or replaced meanwhile.",
            lambda row: row.flow.meter.verified.passed_over_bytes,
        ),
        _flow(
            "verified_lag_seconds",
            Kind.GAUGE,
            "For how long the oldest records that wait to be verified have been mirrored; 0 if none wait. Absent "
            "without continuous verification.",
            _verified_lag,
        ),
        _flow(
            "topic_settings_age_seconds",
            Kind.GAUGE,
            "Since the source was last asked how long its topics keep records.",
            lambda row: row.settings_age_seconds,
        ),
        _flow(
            "partitions_left_out",
            Kind.GAUGE,
            "Partitions, and places of groups, beyond metrics.partitions.max, which have no series of their own.",
            lambda row: row.left_out,
        ),
    ),
)

HEALTH: Final = Group[tuple[FlowView, FlowHealth]](
    "Health of flows",
    (*_FLOW, "health"),
    lambda view: view.healths,
    lambda row: (row[0].source, row[0].target, row[1].value),
    (
        Metric(
            "heliograph_flow_health",
            Kind.GAUGE,
            "1 for the state of health that the flow is in, 0 for all others.",
            lambda row: int(row[0].health is row[1]),
        ),
    ),
)

EVENTS: Final = Group[tuple[FlowView, EventKind]](
    "Events",
    (*_FLOW, "kind"),
    lambda view: view.events,
    lambda row: (row[0].source, row[0].target, row[1].value),
    (
        Metric(
            "heliograph_events_total",
            Kind.COUNTER,
            "What happened to partitions beside being copied, as the ledger tells it.",
            lambda row: row[0].events[row[1]],
        ),
        Metric(
            "heliograph_last_event_timestamp_seconds",
            Kind.GAUGE,
            "When it happened last, as the ledger tells it; 0 if never.",
            lambda row: row[0].newest_events[row[1]] / 1000,
        ),
    ),
)

CONNECTORS: Final = Group[tuple[ConnectorView, RunState]](
    "States of connectors",
    (*_FLOW, "connector", "state"),
    lambda view: view.connector_states,
    lambda row: (row[0].source, row[0].target, row[0].connector.value, row[1].value.lower()),
    (
        Metric(
            "heliograph_connector_state",
            Kind.GAUGE,
            "1 for the state that a connector was told to be in, 0 for the others.",
            lambda row: int(row[0].state is row[1]),
        ),
    ),
)


def _chore(name: str, kind: Kind, text: str, read: Callable[[ChoreView], Value]) -> Metric[ChoreView]:
    return Metric(f"heliograph_chore_{name}", kind, text, read)


CHORES: Final = Group[ChoreView](
    "What flows do beside copying",
    (*_FLOW, "chore"),
    lambda view: view.chores,
    lambda row: (row.source, row.target, row.report.name),
    (
        _chore(
            "age_seconds",
            Kind.GAUGE,
            "Since it last went well, or since the start; grows while it fails or is paused.",
            lambda row: row.age_seconds,
        ),
        _chore("failing", Kind.GAUGE, "1 if its last run failed, else 0.", lambda row: int(row.is_failing)),
        _chore("runs_total", Kind.COUNTER, "How often it ran, well or not.", lambda row: row.report.runs),
        _chore("failures_total", Kind.COUNTER, "How often it failed.", lambda row: row.report.failures),
        _chore("interval_seconds", Kind.GAUGE, "How often it should run.", lambda row: row.report.seconds),
        _chore(
            "duration_seconds",
            Kind.GAUGE,
            "How long its last good run took.",
            lambda row: round(row.report.last_seconds, 6),
        ),
    ),
)


def _partition(name: str, text: str, read: Callable[[PartitionView], Value], *aliases: str) -> Metric[PartitionView]:
    return Metric(f"heliograph_partition_{name}", Kind.GAUGE, text, read, aliases)


PARTITIONS: Final = Group[PartitionView](
    "Source partitions",
    (*_FLOW, "topic", "partition"),
    lambda view: view.partitions,
    lambda row: (row.source, row.target, row.topic, row.partition),
    (
        _partition(
            "lag_records",
            "Offsets that are still to be mirrored. The topic has its name on the source.",
            lambda row: row.waiting.records if row.waiting else None,
            "mirrormaker_partition_lag",
        ),
        _partition(
            "lag_seconds",
            "For how long the first record has waited, by its own time, or since the partition stands still. Grows "
            "while the source cannot be asked.",
            lambda row: row.waiting.seconds if row.waiting else None,
        ),
        _partition(
            "stalled_seconds",
            "For how long the partition has stood still although records wait.",
            lambda row: row.waiting.stalled_seconds if row.waiting else None,
        ),
        _partition(
            "retention_headroom_seconds",
            "Until the first waiting record may expire at the source by retention.ms, or one written now if none "
            "waits; below 0 it may be gone. Expiry by size cannot be foretold. Absent where records are kept for ever.",
            lambda row: row.waiting.headroom_seconds if row.waiting else None,
        ),
    ),
)


def _conflict(name: str, kind: Kind, text: str, read: Callable[[ConflictsView], Value]) -> Metric[ConflictsView]:
    return Metric(f"heliograph_{name}", kind, text, read)


def _delay(row: ConflictsView) -> Value:
    return None if row.delay_seconds is None else round(row.delay_seconds, 3)


CONFLICTS: Final = Group[ConflictsView](
    "Conflicts",
    ("cluster",),
    lambda view: view.conflicts,
    lambda row: (row.cluster,),
    (
        _conflict(
            "conflicts_total",
            Kind.COUNTER,
            "Conflicts that were settled on a cluster. Absent, as all of these, where none are looked for.",
            lambda row: row.totals.conflicts,
        ),
        _conflict(
            "conflict_records_total",
            Kind.COUNTER,
            "Records that were looked at for conflicts.",
            lambda row: row.totals.records,
        ),
        _conflict(
            "conflict_late_records_total",
            Kind.COUNTER,
            "Records that came when their time had been settled already, so that they took part in no decision.",
            lambda row: row.totals.late,
        ),
        _conflict(
            "conflict_unreadable_offsets_total",
            Kind.COUNTER,
            "Offsets that detection has passed by, because what is there fails its checksum or cannot be decoded.",
            lambda row: row.totals.unreadable,
        ),
        _conflict(
            "conflict_waiting_records",
            Kind.GAUGE,
            "Records that may still meet another of their key.",
            lambda row: row.totals.waiting,
        ),
        _conflict(
            "conflict_detection_lag_seconds",
            Kind.GAUGE,
            "For how long the oldest record may have waited that is not settled yet; 0 if none waits. Never less than "
            "the window and the allowed lateness while records come; grows while a flow to the cluster is behind or "
            "paused, up to conflicts.wait.max.ms. Absent until detection has begun.",
            _delay,
        ),
        _conflict(
            "conflict_detection_in_trouble",
            Kind.GAUGE,
            "1 while something holds detection up, else 0.",
            lambda row: int(bool(row.totals.trouble)),
        ),
        _conflict(
            "conflict_detection_restarts_total",
            Kind.COUNTER,
            "How often detection had to begin again after a failure.",
            lambda row: row.totals.restarts,
        ),
    ),
)

CONFLICT_TOPICS: Final = Group[TopicConflicts](
    "Conflicts by topic",
    ("cluster", "topic"),
    lambda view: view.conflict_topics,
    lambda row: (row.cluster, row.topic),
    (
        Metric(
            "heliograph_topic_conflicts_total",
            Kind.COUNTER,
            "Conflicts that were settled on a cluster in a topic, which has its name where it is written. Absent "
            "before its first; topics beyond metrics.partitions.max are one series together.",
            lambda row: row.conflicts,
        ),
    ),
)

CERTIFICATES: Final = Group[Certificate](
    "Certificates",
    ("cluster", "store", "subject"),
    lambda view: view.certificates,
    lambda row: (row.cluster, row.store, row.subject),
    (
        Metric(
            "heliograph_certificate_days_left",
            Kind.GAUGE,
            "Days until the first certificate of a store ends; negative once it has. The cluster `(rest)` is the "
            "REST server's own. Absent without TLS.",
            lambda row: row.days_left,
        ),
    ),
)

PROCESS: Final = Group[MirrorView](
    "The process",
    (),
    lambda view: [view],
    lambda _: (),
    (
        Metric("heliograph_ready", Kind.GAUGE, "1 if every flow is ours, else 0.", lambda view: int(view.is_ready)),
        Metric(
            "heliograph_metrics_page_seconds",
            Kind.GAUGE,
            "How long making the page before this one took.",
            lambda view: round(view.page_seconds, 6),
        ),
    ),
)

BUILD: Final = Group[MirrorView](
    "Build",
    tuple(versions()),
    lambda view: [view],
    lambda _: tuple(versions().values()),
    (Metric("heliograph_build_info", Kind.GAUGE, "Always 1; its labels tell the versions.", lambda _: 1),),
)

GROUPS: Final = (
    FLOWS,
    HEALTH,
    MIRRORED,
    EVENTS,
    CONNECTORS,
    CHORES,
    PARTITIONS,
    CONFLICTS,
    CONFLICT_TOPICS,
    CERTIFICATES,
    PROCESS,
    BUILD,
)
