"""Which rights a flow needs on both clusters, and how an administrator grants those that are missing."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from heliograph.config import stores
from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import Access
from heliograph.kafka.topics import Operation, Operations
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.topics import TopicPlan, internal_topics, ledger_topic

_SOURCE = frozenset({Operation.Read, Operation.Describe, Operation.DescribeConfigs})
_TARGET = frozenset({Operation.Write, Operation.Describe, Operation.Alter})
_TARGET_SETTINGS = frozenset({Operation.DescribeConfigs, Operation.AlterConfigs})
_INTERNAL = frozenset({Operation.Read, Operation.Write, Operation.Describe})
_WRITTEN = _INTERNAL - {Operation.Read}
_TRANSACTIONS = frozenset({Operation.Write, Operation.Describe})


class Resource(Enum):
    """What rights are granted on, by the option that `kafka-acls` has for it."""

    TOPIC = "--topic"
    TRANSACTIONAL_ID = "--transactional-id"
    GROUP = "--group"


@dataclass(frozen=True)
class Need:
    """The operations that a flow needs on one resource; `is_prefix`: on all whose names begin so."""

    resource: Resource
    name: str
    operations: Operations
    is_prefix: bool = False


def source_needs(flow: FlowConfig, topics: Collection[str], existing: Collection[str] = ()) -> list[Need]:
    """What reading these topics of the source takes, and what is written there, if the file asks for that."""
    needs = [Need(Resource.TOPIC, topic, _SOURCE) for topic in sorted(topics)]
    syncs = offset_syncs_on_source(flow)
    return [*needs, Need(Resource.TOPIC, syncs, _with_create(_WRITTEN, syncs, existing))] if syncs else needs


def group_needs(flow: FlowConfig) -> list[Need]:
    """What a flow that begins where a group stands, or moves one along, needs to be allowed of groups on the source."""
    start, progress = str(flow.get("start.group.id") or ""), progress_group_id(flow)
    needs = [Need(Resource.GROUP, start, frozenset({Operation.Describe}))] if start else []
    return [*needs, Need(Resource.GROUP, progress, frozenset({Operation.Read}))] if progress else needs


def offset_syncs_on_source(flow: FlowConfig) -> str:
    """The topic of offset syncs, if it lies on the source."""
    is_wanted = flow.enabled and flow.get("emit.offset-syncs.enabled") is True
    is_there = is_wanted and flow.get("offset-syncs.topic.location") == "source"
    return flow.replication_policy.offset_syncs_topic(flow.target.alias) if is_there else ""


def target_needs(flow: FlowConfig, plan: TopicPlan, existing: Collection[str]) -> list[Need]:
    """What writing to the target takes: data, book-keeping, settings, transactions."""
    operations = _TARGET
    if flow.get("sync.topic.configs.enabled") is True:
        operations |= _TARGET_SETTINGS
    if flow.get("sync.group.offsets.enabled") is True:
        operations |= {Operation.Read}
    if flow.get("exactly.once.commit") == "sequences":  # after a crash the ends of topics tell how far it came
        operations |= {Operation.Read}
    wanted = dict.fromkeys(sorted(plan.names.values()), operations)
    wanted |= {topic: _book_keeping(flow, topic) for topic in book_keeping_topics(flow)}
    needs = [Need(Resource.TOPIC, name, _with_create(ops, name, existing)) for name, ops in wanted.items()]
    if flow.enabled and flow.get("exactly.once.source.support") != "disabled":
        prefix = transactional_id_prefix(flow)
        needs.append(Need(Resource.TRANSACTIONAL_ID, prefix, _TRANSACTIONS, is_prefix=True))
    return needs


def book_keeping_topics(flow: FlowConfig) -> list[str]:
    """The topics on the target that the flow writes besides the data."""
    policy, alias = flow.replication_policy, flow.source.alias
    topics = [topic.name for topic in internal_topics(flow)] if flow.enabled else []
    if flow.enabled and flow.get("emit.checkpoints.enabled") is True:
        topics.append(policy.checkpoints_topic(alias))
    syncs_here = flow.get("offset-syncs.topic.location") == "target"
    if flow.enabled and syncs_here and flow.get("emit.offset-syncs.enabled") is True:
        topics.append(policy.offset_syncs_topic(alias))
    if flow.get("emit.heartbeats.enabled") is True:
        topics.append(policy.heartbeats_topic())
    return topics


def transactional_id_prefix(flow: FlowConfig) -> str:
    """What the transactional ids of all lanes of a flow begin with."""
    return f"heliograph-{flow.name}-"


def missing_rights(needs: Collection[Need], granted: Mapping[str, Operations], cluster: Operations) -> Iterator[Need]:
    """What is needed but not granted; Create may also be granted for the whole cluster."""
    for need in needs:
        anywhere = cluster & {Operation.Create}
        missing = need.operations - granted.get(need.name, frozenset()) - anywhere
        if missing:
            yield Need(need.resource, need.name, missing, need.is_prefix)


def lack(need: Need, access: Access) -> str:
    """What to say about a need that is not granted."""
    lacking = ", ".join(sorted(operation.name for operation in need.operations))
    kind = need.resource.value.removeprefix("--").replace("-", " ")
    return f"{principal(access)} lacks {lacking} on this {kind}{' prefix' * need.is_prefix} of {access.alias}"


def grant_commands(needs: Collection[Need], access: Access) -> list[str]:
    """Command lines that grant the needs: one for all resources that lack the same operations."""
    alike: dict[tuple[Resource, bool, Operations], list[str]] = {}
    for need in needs:
        alike.setdefault((need.resource, need.is_prefix, need.operations), []).append(need.name)
    return [
        shlex.join(_grant(access, resource, is_prefix, operations, names))
        for (resource, is_prefix, operations), names in alike.items()
    ]


def principal(access: Access) -> str:
    """Who the brokers take us for, as far as we can tell."""
    if access.credentials:
        return f"User:{access.credentials.username}"
    if access.tls and access.tls.keystore:
        return f"User:{stores.certificates(access.tls)[0].subject}"
    return "User:ANONYMOUS"


def _book_keeping(flow: FlowConfig, topic: str) -> Operations:
    if topic == flow.replication_policy.heartbeats_topic():
        return _WRITTEN
    return _INTERNAL | {Operation.Delete} if topic == ledger_topic(flow) else _INTERNAL


def _with_create(operations: Operations, name: str, existing: Collection[str]) -> Operations:
    return operations if name in existing else operations | {Operation.Create}


def _grant(
    access: Access, resource: Resource, is_prefix: bool, operations: Operations, names: Collection[str]
) -> Iterator[str]:
    yield from ("kafka-acls", "--bootstrap-server", ",".join(access.bootstrap_servers))
    yield from ("--add", "--allow-principal", principal(access))
    for operation in sorted(operations, key=lambda operation: operation.value):
        yield from ("--operation", operation.name)
    for name in names:
        yield from (resource.value, name)
    if is_prefix:
        yield from ("--resource-pattern-type", "prefixed")
