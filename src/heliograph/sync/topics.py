"""Which topics a flow mirrors, what the target lacks for that, and how it gets it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from heliograph.config.flow import FlowConfig
from heliograph.errors import BrokerRefused
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import (
    LEGAL_NAME,
    NewTopic,
    Outcome,
    SettingSource,
    Status,
    TopicInfo,
    TopicSetting,
    is_fence,
)
from heliograph.model import InternalTopics, LeftOut, TopicPartition
from heliograph.policy.filters import ConfigPropertyFilter
from heliograph.policy.selection import is_cycle, should_replicate_topic

Settings = Mapping[str, TopicSetting]

MAY_CREATE = "internal.topics.automatic.creation.enable"
_OFFSET_SYNCS = "mm2-offset-syncs"
_LEDGER, _OFFSET_MAP, _STATE, _JOURNAL = "mm2-ledger", "mm2-offset-map", "mm2-state", "mm2-journal"
_DECLARATIONS = "mm2-declarations"
_RETENTION = "retention.ms"
_SEGMENT = 1024 * 1024
_LARGE_SEGMENT = 16 * 1024 * 1024


class SkipReason(Enum):
    """Why a topic of the source is not mirrored."""

    INTERNAL = "internal: belongs to Kafka's or the mirror's own book-keeping"
    CYCLE = "cycle: has been on the target before"
    FILTER = "filter: topics and topics.exclude leave it out"


@dataclass(frozen=True)
class Skipped:
    """A topic of the source that is not mirrored."""

    topic: str
    reason: SkipReason


@dataclass(frozen=True)
class Growth:
    """A topic of the target that needs more partitions."""

    topic: str
    partitions: int
    new_total: int


@dataclass(frozen=True)
class TopicProblem:
    """Topics of the source that should be mirrored but cannot be, and why."""

    topics: tuple[str, ...]
    target: str
    message: str

    def __str__(self) -> str:
        return f"{', '.join(self.topics)}: {self.message}"


@dataclass(frozen=True)
class TopicPlan:
    """What a flow mirrors, and what the target needs first."""

    flow: str
    names: Mapping[str, str]
    mirrored: Mapping[TopicPartition, TopicPartition]
    create: tuple[NewTopic, ...]
    grow: tuple[Growth, ...]
    skipped: tuple[Skipped, ...]
    problems: tuple[TopicProblem, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the target has all that is needed."""
        return not (self.create or self.grow or self.problems)

    def ready_on(self, target_topics: Mapping[str, TopicInfo]) -> dict[TopicPartition, TopicPartition]:
        """The partitions that can be mirrored now: those that exist on the target."""
        return {
            source: target
            for source, target in self.mirrored.items()
            if target.topic in target_topics and target.partition < target_topics[target.topic].partitions
        }


@dataclass(frozen=True)
class Applied:
    """What became of one topic of a plan; the warning tells how it differs from what was asked for."""

    topic: str
    action: str
    outcome: Outcome
    warning: str = ""


def plan_topics(
    flow: FlowConfig,
    source_topics: Mapping[str, TopicInfo],
    target_topics: Mapping[str, TopicInfo],
    source_settings: Mapping[str, Settings],
) -> TopicPlan:
    """Compare both sides. Settings are needed only of topics that the target lacks (see `missing_topics`)."""
    chosen, skipped = _choose(flow, source_topics)
    names, problems = _remote_names(flow, chosen)
    pairs = [(source_topics[topic], remote) for topic, remote in names.items()]
    largest = _largest(pairs)
    return TopicPlan(
        flow.name,
        names,
        {
            TopicPartition(info.name, number): TopicPartition(remote, number)
            for info, remote in pairs
            for number in range(info.partitions)
        },
        tuple(
            _new_topic(flow, info, remote, source_settings.get(info.name, {}))
            for remote, info in largest.items()
            if remote not in target_topics
        ),
        tuple(
            Growth(remote, target_topics[remote].partitions, info.partitions)
            for remote, info in largest.items()
            if remote in target_topics and target_topics[remote].partitions < info.partitions
        ),
        skipped,
        problems,
    )


def _largest(pairs: Sequence[tuple[TopicInfo, str]]) -> dict[str, TopicInfo]:
    """For each topic of the target, that topic with the most partitions of those that go there."""
    found: dict[str, TopicInfo] = {}
    for info, remote in pairs:
        if remote not in found or info.partitions > found[remote].partitions:
            found[remote] = info
    return found


def mirrored_names(flow: FlowConfig, source_topics: Collection[str]) -> dict[str, str]:
    """The topics of the source that the flow mirrors, with their names on the target."""
    return _remote_names(flow, _choose(flow, source_topics)[0])[0]


def missing_topics(flow: FlowConfig, source_topics: Collection[str], target_topics: Collection[str]) -> list[str]:
    """The topics of the source that the flow mirrors and the target lacks."""
    return [topic for topic, remote in mirrored_names(flow, source_topics).items() if remote not in target_topics]


def read_plan(flow: FlowConfig, source: Admin, target: Admin) -> TopicPlan:
    """Ask both clusters and compare them."""
    source_topics, target_topics = source.topics(), target.topics()
    settings = source.topic_settings(missing_topics(flow, source_topics, target_topics))
    return plan_topics(flow, source_topics, target_topics, settings)


def apply_topics(plan: TopicPlan, target: Admin) -> list[Applied]:
    """Create and extend topics on the target; what fails is told, and tried again with the next plan."""
    created = create_topics(plan.create, target)
    if not plan.grow:
        return created
    totals = {growth.topic: growth.new_total for growth in plan.grow}
    outcomes = target.add_partitions(totals)
    _await({name: totals[name] for name, outcome in outcomes.items() if outcome.status is Status.DONE}, target)
    return [*created, *(Applied(name, "add partitions", outcome) for name, outcome in outcomes.items())]


def create_topics(topics: Sequence[NewTopic], target: Admin) -> list[Applied]:
    """Create topics with as many replicas as the target has brokers for, and wait until they can be used."""
    existing = target.topics([topic.name for topic in topics]) if topics else {}
    brokers = target.broker_count() if topics else 0
    new = {topic.name: within_brokers(topic, brokers) for topic in topics if topic.name not in existing}
    outcomes = target.create_topics(list(new.values()))
    _await({name: max(new[name].partitions, 1) for name in _done(outcomes)}, target)
    return [_creation(topic, new.get(topic.name), outcomes) for topic in topics]


def within_brokers(topic: NewTopic, brokers: int) -> NewTopic:
    """The topic with no more replicas than there are brokers."""
    return replace(topic, replication_factor=min(topic.replication_factor, brokers))


def internal_topics(flow: FlowConfig) -> list[NewTopic]:
    """The topics on the target in which the flow keeps what it must know, and what could not be transformed."""
    partitions, copies = flow.number("offset.storage.partitions"), flow.number("offset.storage.replication.factor")
    ledger_copies = flow.number("ledger.topic.replication.factor")
    settings = _settings_of_internal_topics(flow)
    topics = [
        NewTopic(name, partitions, copies, {"cleanup.policy": "compact", **settings[name]})
        if name == offsets_topic(flow)
        else NewTopic(name, 1, ledger_copies, {"cleanup.policy": _policy(settings[name]), **settings[name]})
        for name in flow_topics(flow)
    ]
    if not flow.changes_records:
        return topics
    letter_copies = flow.number("errors.deadletterqueue.topic.replication.factor")
    return [*topics, NewTopic(dead_letters_topic(flow), 1, letter_copies, {"cleanup.policy": "delete"})]


def _settings_of_internal_topics(flow: FlowConfig) -> dict[str, dict[str, str]]:
    """What has a retention is deleted after it; the others are compacted.

    The newest segment of a topic is neither compacted nor deleted, so its size bounds what a start has to read.
    """
    topics, retention = flow_topics(flow), {_RETENTION: str(flow.number("ledger.retention.ms"))}
    small, large = {"segment.bytes": str(_SEGMENT)}, {"segment.bytes": str(_LARGE_SEGMENT)}
    return {
        topics.offsets: small,
        topics.ledger: retention | large,
        topics.offset_map: large,
        topics.state: small,
        topics.journal: retention | small,
        topics.declarations: small,
    }


def _policy(settings: Mapping[str, str]) -> str:
    return "delete" if _RETENTION in settings else "compact"


def keep_internal_settings(flow: FlowConfig, target: Admin) -> None:
    """Give topics that exist the settings that new ones would get; BrokerRefused if they keep others.

    The retention of the ledger may have changed in the file. Segments were as large as data's in version 0.1.0, and
    still are where MirrorMaker 2 has made the topic of positions; what somebody has set for the topic stays.
    """
    refusals: list[BrokerRefused] = []
    for topic, settings in _settings_of_internal_topics(flow).items():
        try:
            _keep_settings(topic, settings, target)
        except BrokerRefused as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]


def _keep_settings(topic: str, wanted: Mapping[str, str], target: Admin) -> None:
    current = target.topic_settings([topic]).get(topic, {})
    changes = {
        name: value for name, value in wanted.items() if name in current and _is_to_change(name, current[name], value)
    }
    if changes:
        outcome = target.alter_topic_settings({topic: changes})[topic]
        if outcome.status is Status.REFUSED:
            raise BrokerRefused(f"{target.access.alias} {topic}", outcome.code, outcome.reason)


def _is_to_change(name: str, current: TopicSetting, wanted: str) -> bool:
    is_ours = name == _RETENTION or current.source is not SettingSource.TOPIC
    return is_ours and current.value != wanted


def offsets_topic(flow: FlowConfig) -> str:
    """The name of the topic on the target that holds the flow's positions."""
    return str(flow.get("offsets.storage.topic") or flow.get("offset.storage.topic"))


def ledger_topic(flow: FlowConfig) -> str:
    """The name of the flow's ledger, on its target."""
    return _internal_name(flow, _LEDGER, flow.source.alias)


def flow_topics(flow: FlowConfig) -> InternalTopics:
    """The topics on the target in which the flow keeps what it must know."""
    return topics_beside(flow, flow.source.alias)._replace(offsets=offsets_topic(flow))


def topics_beside(flow: FlowConfig, alias: str) -> InternalTopics:
    """The same of a flow from another cluster to the same target, by the rules of this flow; but for its positions."""
    kinds = _LEDGER, _OFFSET_MAP, _STATE, _JOURNAL, _DECLARATIONS
    return InternalTopics("", *(_internal_name(flow, kind, alias) for kind in kinds))


def dead_letters_topic(flow: FlowConfig) -> str:
    """The name of the topic on the target that holds the records which could not be transformed."""
    name = flow.get("errors.deadletterqueue.topic.name")
    return str(name) if name else _internal_name(flow, "mm2-dead-letters", flow.source.alias)


def left_out(flow: FlowConfig, topic: str) -> LeftOut:
    """What of a topic is not passed on; nothing where topic names tell what came from where."""
    if not flow.keeps_names:
        return LeftOut()
    writers = flow.same_names.writers_left_out(topic, flow.way)
    flows = frozenset(topics_beside(flow, alias) for alias in writers)
    header = flow.provenance_header
    origins = flow.same_names.origins_left_out(topic, flow.way) if header else frozenset()
    return LeftOut(flows, header, origins)


def _internal_name(flow: FlowConfig, kind: str, alias: str) -> str:
    """Made like the name of the offset syncs, so that the policy takes it for internal."""
    model = flow.replication_policy.offset_syncs_topic(alias)
    is_usual = model.startswith(_OFFSET_SYNCS)
    return f"{kind}{model.removeprefix(_OFFSET_SYNCS)}" if is_usual else f"{kind}.{alias}.internal"


def wanted_settings(rules: ConfigPropertyFilter, settings: Settings) -> dict[str, str | None]:
    """What the settings of a source topic should be on its mirror; None: the target's default. Others do not count.

    What keeps producers out of the source would keep the mirror out of its target: it stays as it is there.
    """
    return {
        name: None if setting.is_default and not rules.should_replicate_source_default(name) else setting.value
        for name, setting in settings.items()
        if not (setting.is_read_only or setting.is_sensitive or setting.source is SettingSource.STATIC_BROKER)
        and rules.should_replicate_config_property(name)
        and not is_fence(name, setting.value)
    }


def carried_settings(flow: FlowConfig, settings: Settings) -> dict[str, str]:
    """Those settings of a source topic that its mirror gets when it is created."""
    wanted = wanted_settings(flow.config_property_filter, settings)
    return {name: value for name, value in wanted.items() if value is not None}


def _choose(flow: FlowConfig, topics: Collection[str]) -> tuple[list[str], tuple[Skipped, ...]]:
    chosen: list[str] = []
    skipped: list[Skipped] = []
    for topic in sorted(topics):
        if _is_mirrored(flow, topic):
            chosen.append(topic)
        else:
            skipped.append(Skipped(topic, _reason(flow, topic)))
    return chosen, tuple(skipped)


def _is_mirrored(flow: FlowConfig, topic: str) -> bool:
    return should_replicate_topic(
        topic,
        flow.replication_policy,
        flow.topic_filter,
        flow.source.alias,
        flow.target.alias,
        flow.get("heartbeats.replication.enabled") is True,
    )


def _reason(flow: FlowConfig, topic: str) -> SkipReason:
    policy = flow.replication_policy
    if policy.is_internal_topic(topic):
        return SkipReason.INTERNAL
    is_loop = is_cycle(topic, policy, flow.source.alias, flow.target.alias)
    return SkipReason.CYCLE if is_loop else SkipReason.FILTER


def _remote_names(flow: FlowConfig, topics: Sequence[str]) -> tuple[dict[str, str], tuple[TopicProblem, ...]]:
    """The names on the target; topics that would share one, or get one that Kafka refuses, are problems.

    But what transforms send to the same topic is meant to meet there.
    """
    by_remote: dict[str, list[str]] = {}
    for topic in topics:
        remote = flow.replication_policy.format_remote_topic(flow.source.alias, topic)
        by_remote.setdefault(remote, []).append(topic)
    chain = flow.transforms.build()
    ends = {remote: chain.route(remote).topic for remote in by_remote}
    problems = {problem.target: problem for problem in _problems(by_remote, ends)}
    names = {sources[0]: ends[remote] for remote, sources in by_remote.items() if remote not in problems}
    return names, tuple(problems.values())


def _problems(by_remote: Mapping[str, Sequence[str]], ends: Mapping[str, str]) -> Iterator[TopicProblem]:
    for remote, sources in by_remote.items():
        end = ends[remote]
        if len(sources) > 1:
            yield TopicProblem(tuple(sources), remote, f"all would become {remote} on the target; none is mirrored")
        elif not LEGAL_NAME.fullmatch(end) or end in (".", ".."):
            yield TopicProblem(tuple(sources), remote, f"would become {end}, which is no legal topic name")


def _new_topic(flow: FlowConfig, source: TopicInfo, remote: str, settings: Settings) -> NewTopic:
    copies = flow.number("replication.factor")
    return NewTopic(remote, source.partitions, copies, carried_settings(flow, settings))


def _await(partitions: Mapping[str, int], target: Admin) -> None:
    if partitions:
        target.wait_for_topics(partitions)


def _done(outcomes: Mapping[str, Outcome]) -> list[str]:
    return [name for name, outcome in outcomes.items() if outcome.status is Status.DONE]


def _creation(asked: NewTopic, tried: NewTopic | None, outcomes: Mapping[str, Outcome]) -> Applied:
    if tried is None:  # brokers refuse to create even what exists already, if we lack the right
        return Applied(asked.name, "create", Outcome(Status.ALREADY))
    wanted, given = asked.replication_factor, tried.replication_factor
    warning = "" if wanted == given else f"has {given} replicas, not {wanted}: there are no more brokers"
    return Applied(asked.name, "create", outcomes[asked.name], warning)
