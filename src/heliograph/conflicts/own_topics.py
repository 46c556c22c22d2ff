"""The topics that detection writes. Every cluster makes its own, so no flow takes them along."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from heliograph.conflicts.brevity import LARGEST_DECISION
from heliograph.conflicts.decision import TOPIC
from heliograph.policy import java_regex
from heliograph.policy.filters import TopicFilter

PLACEHOLDER = "{topic}"
DECISION_SETTINGS = {"max.message.bytes": str(LARGEST_DECISION)}
PROGRESS_SETTINGS = {"cleanup.policy": "compact"}
VIEW_SETTINGS = {"cleanup.policy": "compact", "max.message.bytes": str(16 * 1024 * 1024)}  # any record, and its header
_BEFORE_ALIAS, _AFTER_ALIAS = "mm2-conflicts.", ".internal"


def progress_topic(alias: str) -> str:
    """Where it is written down how far detection on a cluster is."""
    return f"{_BEFORE_ALIAS}{alias}{_AFTER_ALIAS}"


def transactional_id_prefix(alias: str) -> str:
    """What the transactional ids of detection on a cluster begin with."""
    return f"heliograph-conflicts-{alias}-"


_pattern = lru_cache(java_regex.matches_any)  # asked for every topic of a cluster, every few seconds


@dataclass(frozen=True)
class OwnTopics:
    """What is written for topics of these patterns."""

    topics: tuple[str, ...]
    output: str = ""  # the pattern of the views' names

    def covers(self, logical_topic: str) -> bool:
        """Whether conflicts are looked for in a topic."""
        return _pattern(self.topics).matches(logical_topic)

    def view_of(self, logical_topic: str) -> str:
        """The topic with the view of a logical topic; empty if there is none."""
        return self.output.replace(PLACEHOLDER, logical_topic)

    def has(self, topic: str) -> bool:
        """Whether detection writes the topic."""
        is_progress = topic.startswith(_BEFORE_ALIAS) and topic.endswith(_AFTER_ALIAS)
        return topic == TOPIC or is_progress or self._is_view(topic)

    def _is_view(self, topic: str) -> bool:
        if PLACEHOLDER not in self.output:
            return topic == self.output
        first = self.output.index(PLACEHOLDER)
        length = (len(topic) - len(self.view_of(""))) // self.output.count(PLACEHOLDER)
        logical_topic = topic[first : first + max(0, length)]
        return bool(logical_topic) and self.view_of(logical_topic) == topic and self.covers(logical_topic)


@dataclass(frozen=True)
class WithoutOwnTopics(TopicFilter):
    """A filter of a flow that also leaves out what detection writes on its source."""

    rest: TopicFilter
    own: OwnTopics

    def should_replicate_topic(self, topic: str) -> bool:
        """Whether a flow takes a topic along."""
        return not self.own.has(topic) and self.rest.should_replicate_topic(topic)
