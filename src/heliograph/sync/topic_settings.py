"""Keeps the settings of mirrored topics as they are on the source."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from heliograph.config.flow import FlowConfig
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Operation, SettingSource, Status, TopicSetting, is_fence
from heliograph.policy.filters import ConfigPropertyFilter
from heliograph.sync.topics import Settings, mirrored_names, wanted_settings


@dataclass(frozen=True)
class SettingChanges:
    """What to set on a topic of the target, what to take back to its default, and what the target does not know."""

    sets: Mapping[str, str]
    deletes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def are_needed(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.sets or self.deletes)


@dataclass(frozen=True)
class SettingsDrift:
    """How topics of the target differ from their sources, and which could not be compared, and why."""

    changes: Mapping[str, SettingChanges]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class SettingsResult:
    """What became of the topics of the target: changed, refused with the reason, or fine as they were.

    `unknown` names the settings of each topic that the target's brokers do not have.
    """

    changed: Mapping[str, SettingChanges]
    refused: Mapping[str, str]
    unchanged: int
    unknown: Mapping[str, tuple[str, ...]]


def wanted_changes(source: Settings, target: Settings, rules: ConfigPropertyFilter) -> SettingChanges:
    """What makes the target's topic like its source. What is like it already, and what the rules exclude, stays.

    So does what keeps producers out, on either side: only who has put it up knows when it may go.
    """
    fenced = {name for name, setting in target.items() if is_fence(name, setting.value)}
    wanted = {name: value for name, value in wanted_settings(rules, source).items() if name not in fenced}
    chosen = {name: value for name, value in wanted.items() if value is not None}
    return SettingChanges(
        {name: value for name, value in chosen.items() if name in target and _differ(source[name], target[name])},
        tuple(name for name, value in wanted.items() if value is None and name in target and _is_own(target[name])),
        tuple(name for name in chosen if name not in target),
    )


class TopicSettingsSync:
    """Compares the topics of a flow that exist on both sides, and carries differences over to the target."""

    def __init__(self, flow: FlowConfig, source: Admin, target: Admin) -> None:
        self._flow = flow
        self._source = source
        self._target = target

    @property
    def is_enabled(self) -> bool:
        """Whether the file asks for it; if not, nothing is compared and nothing changed."""
        return self._flow.get("sync.topic.configs.enabled") is True

    def drift(self) -> SettingsDrift:
        """Compare both sides; changes nothing."""
        names = self._on_both_sides() if self.is_enabled else {}
        ours, hidden = _visible_settings(self._source, names)
        theirs, hidden_there = _visible_settings(self._target, names.values())
        rules = self._flow.config_property_filter
        changes = {
            remote: wanted_changes(ours[topic], theirs[remote], rules)
            for topic, remote in names.items()
            if topic in ours and remote in theirs
        }
        return SettingsDrift(changes, {names[topic]: why for topic, why in hidden.items()} | hidden_there)

    def run(self) -> SettingsResult:
        """Compare both sides and change the target where it differs; one refused topic does not stop the others."""
        drift = self.drift()
        needed = {topic: changes for topic, changes in drift.changes.items() if changes.are_needed}
        outcomes = self._target.alter_topic_settings({topic: _alterations(item) for topic, item in needed.items()})
        refused = {topic: outcome.reason for topic, outcome in outcomes.items() if outcome.status is Status.REFUSED}
        return SettingsResult(
            {topic: changes for topic, changes in needed.items() if topic not in refused},
            {**drift.refused, **refused},
            len(drift.changes) - len(needed),
            {topic: changes.unknown for topic, changes in drift.changes.items() if changes.unknown},
        )

    def _on_both_sides(self) -> dict[str, str]:
        names = mirrored_names(self._flow, self._source.topics())
        existing = self._target.topics(names.values())
        return {topic: remote for topic, remote in names.items() if remote in existing}


def _differ(source: TopicSetting, target: TopicSetting) -> bool:
    """What the source's topic has of its own, the target's must too, so that it outlives a change of defaults."""
    return source.value != target.value or (_is_own(source) and not _is_own(target))


def _is_own(setting: TopicSetting) -> bool:
    return setting.source is SettingSource.TOPIC


def _visible_settings(admin: Admin, topics: Collection[str]) -> tuple[dict[str, Settings], dict[str, str]]:
    """The settings of topics, and of those whose settings we may not see, why."""
    rights = admin.topic_rights(topics)
    hidden = [topic for topic in topics if Operation.DescribeConfigs not in rights.get(topic, ())]
    found = admin.topic_settings(set(topics) - set(hidden))
    return dict(found), {topic: f"lacks DescribeConfigs on topic {topic} of {admin.access.alias}" for topic in hidden}


def _alterations(changes: SettingChanges) -> dict[str, str | None]:
    return {**changes.sets, **dict.fromkeys(changes.deletes)}
