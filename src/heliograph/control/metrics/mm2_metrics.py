"""Metrics under the names that people know from MirrorMaker 2: of the JMX exporter, of Strimzi, of lag monitors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from heliograph.control.connector import Connector
from heliograph.control.metrics.flow_view import CheckpointView, ChoreView, ConnectorView, FlowView, TopicView
from heliograph.control.metrics.metric import Group, Kind, Metric, Value
from heliograph.control.metrics.mirror_view import MirrorView
from heliograph.control.metrics.partition_view import CountView, Latency, PartitionView

_PARTITION: Final = ("source", "target", "topic", "partition")
_TIMES: Final = (
    "from a record's own time to the commit of its transaction, in milliseconds; while records wait, "
    "no less than the first has waited"
)
_LATENCIES: Final[dict[str, tuple[str, Callable[[Latency], float]]]] = {
    "": ("Of the newest record", lambda item: item.last),
    "_avg": ("Mean of the last minute", lambda item: item.average),
    "_min": ("Smallest of the last minute (of the newest record of each transaction)", lambda item: item.smallest),
    "_max": ("Largest of the last minute", lambda item: item.largest),
}


def _strimzi(name: str) -> tuple[str, ...]:
    """The name that Strimzi's rules give to the same thing."""
    for part in ("source", "checkpoint"):
        name = name.replace(f"mirror_{part}_connector_", f"mirror_mirror{part}connector_")
    return (name,)


# -- MirrorSourceConnector --------------------------------------------------------------------------------------------


def _source(name: str, kind: Kind, text: str, read: Callable[[PartitionView], Value]) -> Metric[PartitionView]:
    name = f"kafka_connect_mirror_source_connector_{name}"
    return Metric(name, kind, text, read, _strimzi(name))


def _count(name: str, text: str, read: Callable[[CountView], Value]) -> Metric[CountView]:
    name = f"kafka_connect_mirror_source_connector_{name}"
    return Metric(name, Kind.COUNTER, text, read, _strimzi(name))


def _latency(name: str, suffix: str) -> Metric[PartitionView]:
    text, pick = _LATENCIES[suffix]
    return _source(
        f"{name}{suffix}", Kind.GAUGE, f"{text}: {_TIMES}.", lambda row: pick(row.latency) if row.latency else None
    )


COUNTS: Final = Group[CountView](
    "Records by partition: counters",
    _PARTITION,
    lambda view: view.counts,
    lambda row: (row.source, row.target, row.remote, row.partition),
    (
        _count("record_count", "Records written to a partition of the target.", lambda row: row.records),
        _count(
            "byte_count",
            "Bytes written to a partition of the target: whole record batches as stored, compressed or not. "
            "MirrorMaker 2 counts values alone, uncompressed.",
            lambda row: row.bytes,
        ),
    ),
)

PARTITIONS: Final = Group[PartitionView](
    "Records by partition",
    _PARTITION,
    lambda view: view.partitions,
    lambda row: (row.source, row.target, row.remote, row.partition),
    (
        _source(
            "record_rate", Kind.GAUGE, "Records per second in the last minute.", lambda row: row.records_per_second
        ),
        _source(
            "byte_rate",
            Kind.GAUGE,
            "Bytes per second in the last minute, of whole record batches as stored.",
            lambda row: row.bytes_per_second,
        ),
        *(_latency("replication_latency_ms", suffix) for suffix in _LATENCIES),
        # MirrorMaker 2 takes ages when it polls; here a record's age is known when its transaction is committed.
        *(_latency("record_age_ms", suffix) for suffix in _LATENCIES),
    ),
)


# -- MirrorCheckpointConnector, MirrorHeartbeatConnector --------------------------------------------------------------


def _checkpoint(suffix: str, text: str, read: Callable[[CheckpointView], Value]) -> Metric[CheckpointView]:
    name = f"kafka_connect_mirror_checkpoint_connector_checkpoint_latency_ms{suffix}"
    text = f"{text}: time that writing a checkpoint of a group to the target took, in milliseconds."
    return Metric(name, Kind.GAUGE, text, read, _strimzi(name))


CHECKPOINTS: Final = Group[CheckpointView](
    "Checkpoints",
    ("source", "target", "group", "topic", "partition"),
    lambda view: (item for flow in view.mirrored for item in flow.checkpoints),
    lambda row: (row.source, row.target, row.group, row.where.topic, str(row.where.partition)),
    (
        _checkpoint("", "Of the last one", lambda row: row.last),
        _checkpoint("_avg", "Mean of a minute's scrapes", lambda row: round(sum(row.seen) / len(row.seen), 3)),
        _checkpoint("_min", "Smallest of a minute's scrapes", lambda row: round(min(row.seen), 3)),
        _checkpoint("_max", "Largest of a minute's scrapes", lambda row: round(max(row.seen), 3)),
    ),
)

GROUPS_FOLLOWED: Final = Group[FlowView](
    "Consumer groups",
    ("source", "target"),
    lambda view: view.mirrored,
    lambda row: (row.source, row.target),
    (
        Metric(
            "kafka_connect_mirror_checkpoint_connector_group_count",
            Kind.GAUGE,
            "Consumer groups of the source that the flow follows, when last looked.",
            lambda row: row.flow.groups.group_count,
            _strimzi("kafka_connect_mirror_checkpoint_connector_group_count"),
        ),
    ),
)


def _heartbeat(name: str, kind: Kind, text: str, read: Callable[[ChoreView], Value]) -> Metric[ChoreView]:
    return Metric(f"kafka_connect_mirror_heartbeat_connector_{name}", kind, text, read)


HEARTBEATS: Final = Group[ChoreView](
    "Heartbeats",
    ("source", "target"),
    lambda view: (item for item in view.chores if item.report.connector is Connector.HEARTBEAT),
    lambda row: (row.source, row.target),
    (
        _heartbeat(
            "record_count",
            Kind.COUNTER,
            "Heartbeats written to the target.",
            lambda row: row.report.runs - row.report.failures,
        ),
        _heartbeat("failure_count", Kind.COUNTER, "Heartbeats that failed.", lambda row: row.report.failures),
        _heartbeat(
            "last_heartbeat_age_ms",
            Kind.GAUGE,
            "Milliseconds since a heartbeat was last written; grows while it fails or is paused.",
            lambda row: round(row.age_seconds * 1000),
        ),
    ),
)


# -- Kafka Connect ----------------------------------------------------------------------------------------------------


def _worker(name: str, kind: Kind, text: str, read: Callable[[MirrorView], Value], *aliases: str) -> Metric[MirrorView]:
    return Metric(f"kafka_connect_worker_{name}", kind, text, read, aliases)


WORKER: Final = Group[MirrorView](
    "Worker",
    (),
    lambda view: [view],
    lambda _: (),
    (
        _worker(
            "connector_count",
            Kind.GAUGE,
            "Connectors of all flows: three for each that mirrors, one for a flow of heartbeats only.",
            lambda view: view.connector_count,
            "kafka_connect_coordinator_assigned_connectors",
        ),
        _worker(
            "task_count",
            Kind.GAUGE,
            "Tasks of all connectors: a lane is a task; checkpoints and heartbeats of a flow are one each.",
            lambda view: view.task_count,
            "kafka_connect_coordinator_assigned_tasks",
        ),
        _worker(
            "connector_startup_attempts_total",
            Kind.COUNTER,
            "How often connectors began, again or for the first time.",
            lambda view: view.starts,
        ),
        _worker(
            "connector_startup_success_total",
            Kind.COUNTER,
            "Of these, those that no failure of the whole flow ended.",
            lambda view: view.starts - view.failed_starts,
        ),
        _worker(
            "connector_startup_failure_total",
            Kind.COUNTER,
            "Of these, those that a failure of the whole flow ended.",
            lambda view: view.failed_starts,
        ),
        _worker(
            "connector_startup_success_percentage",
            Kind.GAUGE,
            "Part of the starts that no failure ended, 0 to 1.",
            lambda view: 1 - view.failed_starts / view.starts if view.starts else None,
        ),
        _worker(
            "connector_startup_failure_percentage",
            Kind.GAUGE,
            "Part of the starts that a failure ended, 0 to 1.",
            lambda view: view.failed_starts / view.starts if view.starts else None,
        ),
        _worker(
            "rebalance_rebalancing",
            Kind.GAUGE,
            "Always 0: lanes are dealt anew without stopping the others.",
            lambda _: 0,
        ),
    ),
)


def _tasks(state: str, text: str, read: Callable[[ConnectorView], Value]) -> Metric[ConnectorView]:
    return Metric(f"kafka_connect_worker_connector_{state}_task_count", Kind.GAUGE, text, read)


CONNECTORS: Final = Group[ConnectorView](
    "Connectors",
    ("source", "target", "connector"),
    lambda view: view.connectors,
    lambda row: (row.source, row.target, row.connector.value),
    (
        _tasks("total", "Tasks of a connector.", lambda row: row.tasks),
        _tasks("running", "Tasks that run without trouble.", lambda row: row.running),
        _tasks("paused", "Tasks that were told to pause.", lambda row: row.paused),
        _tasks(
            "failed",
            "Tasks that fail, or hold partitions that are set aside. They are tried again without being asked.",
            lambda row: row.failed,
        ),
        _tasks("unassigned", "Tasks of a flow that is not ours yet.", lambda row: row.unassigned),
        _tasks("destroyed", "Always 0: tasks that end are forgotten.", lambda _: 0),
        _tasks("restarting", "Always 0: a lane that begins again counts as failed.", lambda _: 0),
    ),
)

STATUS: Final = Group[ConnectorView](
    "Status of connectors",
    ("source", "target", "connector", "status"),
    lambda view: view.connectors,
    lambda row: (row.source, row.target, row.connector.value, row.status),
    (
        Metric(
            "kafka_connect_connector_status",
            Kind.GAUGE,
            "1 for the status that a connector has: running, paused, stopped, failed or unassigned.",
            lambda _: 1,
        ),
    ),
)


# -- Kafka's clients --------------------------------------------------------------------------------------------------

RECORDS_LAG: Final = Group[PartitionView](
    "Lag of the consumer",
    ("clientid", "topic", "partition"),
    lambda view: view.partitions,
    lambda row: (f"{row.source}->{row.target}|MirrorSourceConnector|replication-consumer", row.topic, row.partition),
    (
        Metric(
            "kafka_consumer_fetch_manager_records_lag",
            Kind.GAUGE,
            "Offsets of a source partition that are still to be mirrored. The topic has its name on the source.",
            lambda row: row.waiting.records if row.waiting else None,
        ),
    ),
)


def _client_bytes(role: str, name: str, text: str) -> Group[FlowView]:
    return Group[FlowView](
        f"Bytes of the {name.partition('_')[0]}",
        ("clientid",),
        lambda view: view.mirrored,
        lambda row: (f"{row.source}->{row.target}|MirrorSourceConnector|{role}",),
        (Metric(f"kafka_{name}_byte_total", Kind.COUNTER, text, lambda row: row.flow.meter.whole.bytes),),
    )


INCOMING: Final = _client_bytes(
    "replication-consumer",
    "consumer_incoming",
    "Bytes of record batches that were read and mirrored; other bytes of the protocol are not counted.",
)
OUTGOING: Final = _client_bytes(
    "producer",
    "producer_outgoing",
    "Bytes of record batches that were written and committed; other bytes of the protocol are not counted.",
)


# -- lag monitors -----------------------------------------------------------------------------------------------------

TOPIC_LAG: Final = Group[TopicView](
    "Lag by topic",
    ("source", "target", "topic"),
    lambda view: (item for flow in view.mirrored for item in flow.topics),
    lambda row: (row.source, row.target, row.topic),
    (
        Metric(
            "mirrormaker_offset_lag",
            Kind.GAUGE,
            "Offsets of a source topic that are still to be mirrored. The topic has its name on the source.",
            lambda row: row.lag_records,
        ),
    ),
)

LATENCY: Final = Group[FlowView](
    "Latency of flows",
    ("source", "target"),
    lambda view: view.mirrored,
    lambda row: (row.source, row.target),
    (
        Metric(
            "mirrormaker_replication_latency_ms",
            Kind.GAUGE,
            "Mean of the last minute from a record's own time to its commit; while records wait or nobody knows, "
            "no less than that has lasted.",
            lambda row: row.latency_ms,
        ),
    ),
)

GROUPS: Final = (
    COUNTS,
    PARTITIONS,
    CHECKPOINTS,
    GROUPS_FOLLOWED,
    HEARTBEATS,
    WORKER,
    CONNECTORS,
    STATUS,
    RECORDS_LAG,
    INCOMING,
    OUTGOING,
    TOPIC_LAG,
    LATENCY,
)
