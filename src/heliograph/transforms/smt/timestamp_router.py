"""Sends messages to topics by their time."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.errors import DataError
from heliograph.transforms.java_dates import DateFormat
from heliograph.transforms.message import Message
from heliograph.transforms.stage import StageOption, Transform

_TOPIC_FORMAT = "topic.format"
_TIMESTAMP_FORMAT = "timestamp.format"
_MOST_KNOWN = 1000


class TimestampRouter(Transform):
    """Makes the time of a message a part of the name of its topic."""

    OPTIONS = (
        StageOption(
            _TOPIC_FORMAT,
            "The name of the new topic; ${topic} and ${timestamp} in it stand for the old one and the time.",
            "${topic}-${timestamp}",
        ),
        StageOption(
            _TIMESTAMP_FORMAT, "How the time is written, in UTC, as a pattern of Java's SimpleDateFormat.", "yyyyMMdd"
        ),
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `topic.format` and `timestamp.format`."""
        self._topic_format = settings[_TOPIC_FORMAT]
        try:
            self._dates = DateFormat(settings[_TIMESTAMP_FORMAT])
        except ValueError as error:
            raise ValueError(f"{_TIMESTAMP_FORMAT} is no pattern of dates: {error}") from None
        self._step = self._dates.step_ms
        self._known: dict[tuple[str, int], str] = {}

    def apply(self, message: Message) -> Message:
        """The message with its new topic."""
        if message.timestamp is None:
            raise DataError("TimestampRouter: the message has no timestamp")
        step = message.timestamp // self._step
        topic = self._known.get((message.topic, step))
        message.topic = self._add(message.topic, step) if topic is None else topic
        return message

    def _add(self, topic: str, step: int) -> str:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        time = self._dates.format(step * self._step)
        routed = self._topic_format.replace("${topic}", topic).replace("${timestamp}", time)
        self._known[topic, step] = routed
        return routed
