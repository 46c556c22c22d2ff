"""Tells messages that delete from others."""

from __future__ import annotations

from heliograph.transforms.message import Message
from heliograph.transforms.stage import Predicate


class RecordIsTombstone(Predicate):
    """True for messages without a value."""

    def test(self, message: Message) -> bool:
        """Whether there is no value."""
        return message.value.is_null
