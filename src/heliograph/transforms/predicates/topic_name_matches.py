"""Tells messages by their topics."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.policy import java_regex
from heliograph.transforms.message import Message
from heliograph.transforms.stage import Predicate, StageOption

_PATTERN = "pattern"
_LIMIT = 10_000  # topics whose answers are kept


class TopicNameMatches(Predicate):
    """True for messages whose topic, as it is called on the target by now, matches a regular expression as a whole."""

    OPTIONS = (StageOption(_PATTERN, "A regular expression of Java for the whole name.", is_required=True),)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `pattern`."""
        if not settings[_PATTERN]:
            raise ValueError(f"{_PATTERN} is empty")
        try:
            self._pattern = java_regex.compile(settings[_PATTERN])
        except java_regex.JavaRegexError as error:
            raise ValueError(f"{_PATTERN}: {error}") from None
        self._known: dict[str, bool] = {}

    def test(self, message: Message) -> bool:
        """Whether the topic of the message matches."""
        return self.test_topic(message.topic)

    def test_topic(self, topic: str) -> bool:
        """Whether a topic matches."""
        found = self._known.get(topic)
        if found is None:
            if len(self._known) >= _LIMIT:
                self._known.clear()
            found = self._known[topic] = self._pattern.matches(topic)
        return found
