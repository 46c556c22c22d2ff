"""Sends messages to topics that are named after their own."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.policy.java_regex import JavaRegexError
from heliograph.policy.java_replacement import FirstReplacement
from heliograph.transforms.message import Message
from heliograph.transforms.stage import StageOption, Transform

_REGEX = "regex"
_REPLACEMENT = "replacement"
_LIMIT = 10_000  # topics whose new names are kept


class RegexRouter(Transform):
    """Renames the topic of a message if a regular expression matches all of its name."""

    OPTIONS = (
        StageOption(_REGEX, "A regular expression of Java for the whole name of a topic.", is_required=True),
        StageOption(_REPLACEMENT, "The new name; $1 or ${name} stand for what groups have matched.", is_required=True),
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `regex` and `replacement`."""
        try:
            self._names = FirstReplacement(settings[_REGEX], settings[_REPLACEMENT])
        except JavaRegexError as error:
            raise ValueError(f"{_REGEX}: {error}") from None
        except ValueError as error:
            raise ValueError(f"{_REPLACEMENT}: {error}") from None
        self._known: dict[str, str] = {}

    def apply(self, message: Message) -> Message:
        """The message under its new topic."""
        message.topic = self.route(message.topic)
        return message

    def route(self, topic: str) -> str:
        """The new name of a topic; its own if it does not match."""
        found = self._known.get(topic)
        if found is None:
            if len(self._known) >= _LIMIT:
                self._known.clear()
            found = self._known[topic] = self._names.replaced(topic)
        return found
