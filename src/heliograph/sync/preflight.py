"""Would a flow run? Asks both clusters everything that can be known before the first record is copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from heliograph.config.flow import FlowConfig
from heliograph.config.problem import Severity
from heliograph.errors import BrokerUnavailable, ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import LEGAL_NAME, NewTopic, Operation, Operations, Outcome, Status, TopicInfo
from heliograph.sync.fitness import Finding, misfits
from heliograph.sync.rights import (
    Need,
    Resource,
    grant_commands,
    group_needs,
    lack,
    missing_rights,
    source_needs,
    target_needs,
)
from heliograph.sync.topics import (
    Settings,
    TopicPlan,
    carried_settings,
    internal_topics,
    plan_topics,
    within_brokers,
)

_DENIED = (29, 31)


@dataclass(frozen=True)
class ClusterFacts:
    """What a cluster tells about itself."""

    alias: str
    cluster_id: str
    versions: tuple[str, ...]
    brokers: int


@dataclass(frozen=True)
class FlowReport:
    """What was found out about a flow, and the commands that grant missing rights."""

    flow: str
    clusters: tuple[ClusterFacts, ...]
    findings: tuple[Finding, ...]
    grants: tuple[str, ...] = ()
    is_unreachable: bool = False

    @property
    def would_fail(self) -> bool:
        """Whether there is at least one error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def examine(flow: FlowConfig) -> FlowReport:
    """Ask both clusters of a flow; changes nothing there."""
    with (
        Admin(access_for(flow.source, "admin")) as source,
        Admin(access_for(flow.target, "admin")) as target,
    ):
        examination = _Examination(flow, source, target)
        try:
            examination.run()
        except ClusterError as error:
            examination.report(Severity.ERROR, flow.name, str(error))
            return examination.result(is_unreachable=isinstance(error, BrokerUnavailable))
        return examination.result()


@dataclass
class _Examination:
    """Collects findings, so that one does not hide the next."""

    flow: FlowConfig
    source: Admin
    target: Admin
    clusters: list[ClusterFacts] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    grants: list[str] = field(default_factory=list)

    def result(self, is_unreachable: bool = False) -> FlowReport:
        return FlowReport(
            self.flow.name, tuple(self.clusters), tuple(self.findings), tuple(self.grants), is_unreachable
        )

    def report(self, severity: Severity, subject: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(severity, subject, message, hint))

    def run(self) -> None:
        admins = (self.source, self.target) if self.flow.enabled else (self.target,)
        self.clusters += [_facts(admin) for admin in admins]
        if self.flow.enabled and self.clusters[0].cluster_id == self.clusters[1].cluster_id:
            self._report_same_cluster()
            return
        self._check_group_rights()
        source_topics = self.source.topics() if self.flow.enabled else {}
        target_topics = self.target.topics()
        settings = self._source_settings(source_topics)
        plan = plan_topics(self.flow, source_topics, target_topics, settings)
        self._check_plan(plan)
        self._check_target_rights(plan, target_topics)
        if self.flow.enabled:
            self._check_fitness(plan, target_topics, settings)

    # -- one question each ---------------------------------------------------------------------------------

    def _report_same_cluster(self) -> None:
        source, target = self.clusters
        message = f"{source.alias} and {target.alias} are the same cluster, {source.cluster_id}"
        self.report(Severity.ERROR, self.flow.name, message, "correct bootstrap.servers of one of them")

    def _check_plan(self, plan: TopicPlan) -> None:
        for problem in plan.problems:
            self.report(Severity.ERROR, ", ".join(problem.topics), problem.message)
        if self.flow.enabled and not plan.names:
            hint = "check topics and topics.exclude, and whether we may describe the topics"
            self.report(Severity.WARNING, self.flow.name, "no topic would be mirrored", hint)

    def _source_settings(self, topics: Mapping[str, TopicInfo]) -> dict[str, Settings]:
        """The settings of the topics that the flow mirrors and whose settings we may see."""
        if not self.flow.enabled:
            return {}
        wanted = plan_topics(self.flow, topics, {}, {}).names
        rights = self.source.topic_rights({*wanted, *self._named_topics()})
        self._check_named_topics(topics, rights)
        needs = source_needs(self.flow, rights, topics)
        written = [need.name for need in needs if need.name not in rights]
        self._require(self.source, needs, {**rights, **self.source.topic_rights(written)})
        return dict(
            self.source.topic_settings([topic for topic in wanted if Operation.DescribeConfigs in rights[topic]])
        )

    def _named_topics(self) -> Iterator[str]:
        """The topics that the file names one by one: a broker hides topics that we may not describe."""
        listed = self.flow.get("topics")
        for name in listed if isinstance(listed, tuple) else ():
            if LEGAL_NAME.fullmatch(name) and self.flow.topic_filter.should_replicate_topic(name):
                yield name

    def _check_named_topics(self, topics: Mapping[str, TopicInfo], rights: Mapping[str, Operations]) -> None:
        for name in self._named_topics():
            if name not in topics and Operation.Describe in rights[name]:
                self.report(
                    Severity.WARNING,
                    name,
                    f"is named in topics but does not exist on {self.source.access.alias}",
                )

    def _check_group_rights(self) -> None:
        needs = group_needs(self.flow) if self.flow.enabled else []
        for name in dict.fromkeys(need.name for need in needs):
            wanted = [need for need in needs if need.name == name]
            self._require(self.source, wanted, {name: self.source.group_rights(name)})

    def _check_target_rights(self, plan: TopicPlan, existing: Mapping[str, TopicInfo]) -> None:
        needs = target_needs(self.flow, plan, existing)
        topics = [need.name for need in needs if need.resource is Resource.TOPIC]
        granted = self.target.topic_rights(topics)
        for need in needs:
            if need.resource is Resource.TRANSACTIONAL_ID:
                granted[need.name] = self.target.transactional_id_rights(f"{need.name}check")
        self._require(self.target, needs, granted)

    def _require(self, admin: Admin, needs: list[Need], granted: Mapping[str, Operations]) -> None:
        missing = list(missing_rights(needs, granted, admin.cluster_rights()))
        severity = Severity.ERROR if self.flow.enabled else Severity.WARNING  # records flow without heartbeats
        for need in missing:
            self.report(severity, need.name, lack(need, admin.access))
        self.grants += grant_commands(missing, admin.access)

    # -- the target's topics -------------------------------------------------------------------------------

    def _check_fitness(
        self, plan: TopicPlan, existing: Mapping[str, TopicInfo], settings: Mapping[str, Settings]
    ) -> None:
        brokers = self.clusters[1].brokers
        book_keeping = [topic for topic in internal_topics(self.flow) if topic.name not in existing]
        new = {topic.name: self._possible(topic, brokers) for topic in (*plan.create, *book_keeping)}
        trials = self.target.create_topics(list(new.values()), only_try=True) if new else {}
        self._check_trials(trials)
        rights = self.target.topic_rights(plan.names.values())
        visible = [name for name in existing if Operation.DescribeConfigs in rights.get(name, ())]
        present = self.target.topic_settings(visible)
        for topic, remote in plan.names.items():
            there = {name: setting.value for name, setting in settings.get(topic, {}).items()}
            if remote in new:
                here, copies = dict(trials[remote].settings), new[remote].replication_factor
            else:
                here = {name: setting.value for name, setting in present.get(remote, {}).items()}
                here |= self._synced(settings.get(topic, {})) if here else {}
                copies = existing[remote].replication_factor
            self.findings += misfits(remote, there, here, copies)

    def _possible(self, topic: NewTopic, brokers: int) -> NewTopic:
        possible = within_brokers(topic, brokers)
        if possible != topic:
            message = f"gets {brokers} replicas, not {topic.replication_factor}: there are no more brokers"
            self.report(Severity.WARNING, topic.name, message)
        return possible

    def _check_trials(self, trials: Mapping[str, Outcome]) -> None:
        for name, outcome in trials.items():
            if outcome.status is Status.REFUSED and outcome.code not in _DENIED:
                self.report(Severity.ERROR, name, f"cannot be created on the target: {outcome.reason}")

    def _synced(self, settings: Settings) -> dict[str, str]:
        is_synced = self.flow.get("sync.topic.configs.enabled") is True
        return carried_settings(self.flow, settings) if is_synced else {}


def _facts(admin: Admin) -> ClusterFacts:
    return ClusterFacts(admin.access.alias, admin.cluster_id(), tuple(admin.versions()), admin.broker_count())
