"""Tells messages by their headers."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.message import Message
from heliograph.transforms.stage import Predicate, StageOption

_NAME = "name"


class HasHeaderKey(Predicate):
    """True for messages that have a header of the given name."""

    OPTIONS = (StageOption(_NAME, "The name of the header.", is_required=True),)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `name`."""
        self._name = settings[_NAME]
        if not self._name:
            raise ValueError(f"{_NAME} is empty")

    def test(self, message: Message) -> bool:
        """Whether at least one header has the name."""
        return any(header.name == self._name for header in message.headers)
