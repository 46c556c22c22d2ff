"""`heliograph plan`: what a file would mirror, create, alter and skip, without touching anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.output import Data, Format, FormatOption, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from heliograph.config.conflict_config import ConflictConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.kafka.acls import Acl
    from heliograph.kafka.topics import NewTopic
    from heliograph.sync.acls import AclDrift
    from heliograph.sync.topic_settings import SettingsDrift
    from heliograph.sync.topics import TopicPlan

    Row: TypeAlias = tuple[str, str, str]


def plan(file: FileArgument, flow: FlowOption = None, output: FormatOption = Format.TABLE) -> None:
    """Show what would be mirrored, created, altered and skipped, and why; changes nothing.

    \b
    heliograph plan mm2.properties
    heliograph plan mm2.properties --flow 'primary->dr' -o json
    """
    from heliograph.config.mirror_config import load

    config = load(file)
    flows = chosen_flows(config, flow)
    targets = {one.target.alias for one in flows}
    detections = [one for one in config.conflicts if one.cluster.alias in targets]
    plans = PlanResult(tuple(_plan_of(one) for one in flows), tuple(_detection_plan(one) for one in detections))
    show(plans, output)


def _plan_of(flow: FlowConfig) -> FlowPlan | HeartbeatsOnly:
    from heliograph.kafka.access import access_for
    from heliograph.kafka.admin import Admin
    from heliograph.sync.acls import AclSync
    from heliograph.sync.topic_settings import TopicSettingsSync
    from heliograph.sync.topics import internal_topics, read_plan

    if flow.heartbeats_only:
        return HeartbeatsOnly(flow.name)
    with (
        Admin(access_for(flow.source, "admin")) as source,
        Admin(access_for(flow.target, "admin")) as target,
    ):
        topics = internal_topics(flow)
        existing = target.topics([topic.name for topic in topics])
        lacking = tuple(topic for topic in topics if topic.name not in existing)
        return FlowPlan(
            flow.name,
            read_plan(flow, source, target),
            lacking,
            TopicSettingsSync(flow, source, target).drift(),
            AclSync(flow, source, target).drift(),
        )


def _detection_plan(config: ConflictConfig) -> DetectionPlan:
    from heliograph.kafka.access import access_for
    from heliograph.kafka.admin import Admin
    from heliograph.sync.watched_topics import WatchedTopics

    with Admin(access_for(config.cluster, "admin")) as admin:
        infos = admin.topics()
    watched = WatchedTopics(config)
    return DetectionPlan(config.name, tuple(sorted(watched.read(infos))), tuple(watched.missing(infos)))


@dataclass(frozen=True)
class DetectionPlan:
    """Detection of conflicts on one cluster: the topics that it reads, and those that it creates first."""

    name: str
    topics: tuple[str, ...]
    create: tuple[NewTopic, ...]


@dataclass(frozen=True)
class HeartbeatsOnly:
    """A flow that only writes heartbeats."""

    flow: str


@dataclass(frozen=True)
class FlowPlan:
    """The plan of one flow."""

    flow: str
    topics: TopicPlan
    book_keeping: tuple[NewTopic, ...]
    settings: SettingsDrift
    acls: AclDrift


@dataclass(frozen=True)
class PlanResult:
    """The plans of all chosen flows."""

    flows: tuple[FlowPlan | HeartbeatsOnly, ...]
    detections: tuple[DetectionPlan, ...] = ()

    def data(self) -> Data:
        """The result as plain values."""
        return {
            "flows": [_flow_data(flow) for flow in self.flows],
            "conflicts": [
                {"name": plan.name, "topics": list(plan.topics), "create": [_topic_data(new) for new in plan.create]}
                for plan in self.detections
            ],
        }

    def view(self) -> RenderableType:
        """One table for each flow, and for detection on each cluster."""
        from rich.console import Group

        return Group(*map(_flow_view, self.flows), *map(_detection_view, self.detections))


def _flow_data(flow: FlowPlan | HeartbeatsOnly) -> Data:
    if isinstance(flow, HeartbeatsOnly):
        return {"name": flow.flow, "heartbeats_only": True}
    topics = flow.topics
    counts = _partition_counts(topics)
    return {
        "name": flow.flow,
        "heartbeats_only": False,
        "mirror": [
            {"topic": topic, "target": remote, "partitions": counts[topic]} for topic, remote in topics.names.items()
        ],
        "create": [_topic_data(topic) for topic in (*flow.book_keeping, *topics.create)],
        "add_partitions": [
            {"topic": growth.topic, "from": growth.partitions, "to": growth.new_total} for growth in topics.grow
        ],
        "alter_settings": _settings_data(flow.settings),
        "settings_not_compared": [{"topic": topic, "reason": why} for topic, why in flow.settings.refused.items()],
        "create_acls": [_acl_data(acl) for acl in flow.acls.missing],
        "acls_left_out": [_acl_data(acl) for acl in flow.acls.left_out],
        "acls_skipped": flow.acls.skipped,
        "skip": [{"topic": item.topic, "reason": item.reason.name.lower()} for item in topics.skipped],
        "problems": [
            {"topics": list(item.topics), "target": item.target, "message": item.message} for item in topics.problems
        ],
    }


def _topic_data(topic: NewTopic) -> Data:
    return {
        "topic": topic.name,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "settings": dict(topic.settings),
    }


def _settings_data(drift: SettingsDrift) -> list[Data]:
    return [
        {
            "topic": topic,
            "set": dict(changes.sets),
            "reset": list(changes.deletes),
            "unknown_to_target": list(changes.unknown),
        }
        for topic, changes in drift.changes.items()
        if changes.are_needed or changes.unknown
    ]


def _acl_data(acl: Acl) -> Data:
    return {
        "topic": acl.topic,
        "pattern": acl.pattern.name.lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation.name,
        "permission": acl.permission.name.lower(),
    }


def _flow_view(flow: FlowPlan | HeartbeatsOnly) -> RenderableType:
    from rich.text import Text

    if isinstance(flow, HeartbeatsOnly):
        return Text(f"{flow.flow}: heartbeats only")
    topics = flow.topics
    title = f"{flow.flow}: {len(topics.mirrored)} partitions of {len(topics.names)} topics"
    rows = (*_topic_rows(flow), *_setting_rows(flow.settings), *_acl_rows(flow.acls), *_mirror_rows(topics))
    return _table(title, rows)


def _detection_view(plan: DetectionPlan) -> RenderableType:
    looked_at = (("look for conflicts", topic, "") for topic in plan.topics)
    return _table(f"{plan.name}: {len(plan.topics)} topics", (*map(_creation_row, plan.create), *looked_at))


def _table(title: str, rows: Iterable[Row]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("action", "topic", "details"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _creation_row(topic: NewTopic) -> Row:
    settings = "".join(f", {name}={value}" for name, value in topic.settings.items())
    sizes = f"{topic.partitions} partitions, replication factor {topic.replication_factor}"
    return "create", topic.name, sizes + settings


def _topic_rows(flow: FlowPlan) -> Iterator[Row]:
    for problem in flow.topics.problems:
        yield "PROBLEM", ", ".join(problem.topics), problem.message
    for topic in (*flow.book_keeping, *flow.topics.create):
        yield _creation_row(topic)
    for growth in flow.topics.grow:
        yield "add partitions", growth.topic, f"{growth.partitions} -> {growth.new_total}"


def _setting_rows(drift: SettingsDrift) -> Iterator[Row]:
    for topic, changes in drift.changes.items():
        if changes.sets:
            yield "set", topic, ", ".join(f"{name}={value}" for name, value in changes.sets.items())
        if changes.deletes:
            yield "reset", topic, ", ".join(changes.deletes)
        if changes.unknown:
            yield "cannot set", topic, f"{', '.join(changes.unknown)}: the target does not know it"
    for topic, reason in drift.refused.items():
        yield "cannot compare settings", topic, reason


def _acl_rows(drift: AclDrift) -> Iterator[Row]:
    for acl in drift.missing:
        yield "create ACL", acl.topic, acl.rule
    for acl in drift.left_out:
        yield "leave out ACL", acl.topic, f"{acl.rule}; not copied: more than one topic"
    if drift.skipped:
        yield "no ACLs", "", drift.skipped


def _mirror_rows(topics: TopicPlan) -> Iterator[Row]:
    counts = _partition_counts(topics)
    for topic_name, remote in topics.names.items():
        yield "mirror", topic_name, f"-> {remote}, {counts[topic_name]} partitions"
    for item in topics.skipped:
        yield "skip", item.topic, item.reason.value


def _partition_counts(topics: TopicPlan) -> dict[str, int]:
    counts = dict.fromkeys(topics.names, 0)
    for source in topics.mirrored:
        counts[source.topic] += 1
    return counts
