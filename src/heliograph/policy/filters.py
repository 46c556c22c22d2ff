"""Which topics, consumer groups and topic settings are mirrored."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

from heliograph.policy.java_regex import JavaPattern, matches_any

TOPICS_KEY = "topics"
TOPICS_DEFAULT = ".*"
TOPICS_EXCLUDE_KEY = "topics.exclude"
TOPICS_EXCLUDE_DEFAULT = r"mm2.*\.internal, .*\.replica, __.*"
GROUPS_KEY = "groups"
GROUPS_DEFAULT = ".*"
GROUPS_EXCLUDE_KEY = "groups.exclude"
GROUPS_EXCLUDE_DEFAULT = "console-consumer-.*, connect-.*, __.*"
CONFIG_PROPERTIES_EXCLUDE_KEY = "config.properties.exclude"
CONFIG_PROPERTIES_EXCLUDE_DEFAULT = (
    "follower.replication.throttled.replicas, leader.replication.throttled.replicas, "
    "message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, "
    "log.message.timestamp.after.max.ms, message.timestamp.type, unclean.leader.election.enable, "
    "min.insync.replicas"
)
USE_DEFAULTS_FROM_KEY = "use.defaults.from"
USE_DEFAULTS_FROM_DEFAULT = "target"


class TopicFilter(ABC):
    """Decides which topics of the source are mirrored."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a filter may need no settings
        """Take what the filter needs from the flow's settings; ValueError refuses them."""

    @abstractmethod
    def should_replicate_topic(self, topic: str) -> bool:
        """Whether a topic is mirrored."""


class GroupFilter(ABC):
    """Decides which consumer groups of the source get their offsets translated."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a filter may need no settings
        """Take what the filter needs from the flow's settings; ValueError refuses them."""

    @abstractmethod
    def should_replicate_group(self, group: str) -> bool:
        """Whether a group's offsets are translated."""


class ConfigPropertyFilter(ABC):
    """Decides which topic settings are carried over to the target."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a filter may need no settings
        """Take what the filter needs from the flow's settings; ValueError refuses them."""

    @abstractmethod
    def should_replicate_config_property(self, name: str) -> bool:
        """Whether a topic setting is carried over."""

    def should_replicate_source_default(self, name: str) -> bool:
        """Whether a setting at the source's default is set on the target, rather than left to it."""
        return False


class DefaultTopicFilter(TopicFilter):
    """An include list and an exclude list of regular expressions; exclusion wins."""

    def __init__(self) -> None:
        DefaultTopicFilter.configure(self, {})

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `topics` and `topics.exclude`."""
        self._include = _pattern(settings, TOPICS_KEY, TOPICS_DEFAULT)
        self._exclude = _pattern(settings, TOPICS_EXCLUDE_KEY, TOPICS_EXCLUDE_DEFAULT)

    def should_replicate_topic(self, topic: str) -> bool:
        """Whether a topic is included and not excluded."""
        return self._include.matches(topic) and not self._exclude.matches(topic)


class DefaultGroupFilter(GroupFilter):
    """An include list and an exclude list of regular expressions; exclusion wins."""

    def __init__(self) -> None:
        DefaultGroupFilter.configure(self, {})

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `groups` and `groups.exclude`."""
        self._include = _pattern(settings, GROUPS_KEY, GROUPS_DEFAULT)
        self._exclude = _pattern(settings, GROUPS_EXCLUDE_KEY, GROUPS_EXCLUDE_DEFAULT)

    def should_replicate_group(self, group: str) -> bool:
        """Whether a group is included and not excluded."""
        return self._include.matches(group) and not self._exclude.matches(group)


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """An exclude list of regular expressions, and one rule for default values."""

    def __init__(self) -> None:
        DefaultConfigPropertyFilter.configure(self, {})

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `config.properties.exclude` and `use.defaults.from`."""
        self._exclude = _pattern(settings, CONFIG_PROPERTIES_EXCLUDE_KEY, CONFIG_PROPERTIES_EXCLUDE_DEFAULT)
        self._use_source_defaults = settings.get(USE_DEFAULTS_FROM_KEY, USE_DEFAULTS_FROM_DEFAULT) == "source"

    def should_replicate_config_property(self, name: str) -> bool:
        """Whether a setting is not excluded."""
        return not self._exclude.matches(name)

    def should_replicate_source_default(self, name: str) -> bool:
        """Whether `use.defaults.from` is `source`."""
        return self._use_source_defaults


def split_list(text: str) -> list[str]:
    """Split a list setting as Kafka does: at every comma, also inside a regular expression such as a{1,2}."""
    return re.split(r"\s*,\s*", text.strip()) if text.strip() else []


def _pattern(settings: Mapping[str, str], key: str, default: str) -> JavaPattern:
    return matches_any(split_list(settings.get(key, default)))
