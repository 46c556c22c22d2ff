"""Could conflicts be looked for on a cluster? Asks it for the rights that this takes, and changes nothing there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from heliograph.config.conflict_config import ConflictConfig
from heliograph.config.problem import Severity
from heliograph.conflicts import decision
from heliograph.conflicts.own_topics import progress_topic, transactional_id_prefix
from heliograph.errors import BrokerUnavailable, ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Operation, TopicInfo
from heliograph.sync.fitness import Finding
from heliograph.sync.preflight import FlowReport
from heliograph.sync.rights import Need, Resource, grant_commands, lack, missing_rights
from heliograph.sync.watched_topics import WatchedTopics

_READ = frozenset({Operation.Read, Operation.Describe})
_WRITTEN = frozenset({Operation.Write, Operation.Describe})


def examine_conflicts(config: ConflictConfig) -> FlowReport:
    """What detection lacks on its cluster."""
    with Admin(access_for(config.cluster, "producer")) as admin:
        try:
            return _examined(config, admin)
        except ClusterError as error:
            finding = Finding(Severity.ERROR, config.name, str(error), "")
            return FlowReport(config.name, (), (finding,), is_unreachable=isinstance(error, BrokerUnavailable))


def _examined(config: ConflictConfig, admin: Admin) -> FlowReport:
    topics, watched = admin.topics(), WatchedTopics(config)
    needs = list(_needs(config, watched, topics))
    granted = admin.topic_rights([need.name for need in needs if need.resource is Resource.TOPIC])
    prefix = transactional_id_prefix(config.cluster.alias)
    granted[prefix] = admin.transactional_id_rights(f"{prefix}check")
    missing = list(missing_rights(needs, granted, admin.cluster_rights()))
    findings = [Finding(Severity.ERROR, need.name, lack(need, admin.access), "") for need in missing]
    if not watched.read(topics):
        hint = "check conflicts.topics, and whether we may describe the topics"
        findings.append(Finding(Severity.WARNING, config.name, "there is no such topic yet", hint))
    return FlowReport(config.name, (), tuple(findings), tuple(grant_commands(missing, admin.access)))


def _needs(config: ConflictConfig, watched: WatchedTopics, topics: Mapping[str, TopicInfo]) -> Iterator[Need]:
    yield from (Need(Resource.TOPIC, topic, _READ) for topic in sorted(watched.read(topics)))
    alias = config.cluster.alias
    written = {
        decision.TOPIC: _WRITTEN,
        progress_topic(alias): _READ | _WRITTEN,
        **dict.fromkeys(watched.views(topics), _READ | _WRITTEN),
    }
    for topic, operations in written.items():
        yield Need(Resource.TOPIC, topic, operations | ({Operation.Create} if topic not in topics else set()))
    yield Need(Resource.TRANSACTIONAL_ID, transactional_id_prefix(alias), _WRITTEN, is_prefix=True)
