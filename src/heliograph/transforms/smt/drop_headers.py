"""Removes headers by their names."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.message import Message
from heliograph.transforms.smt.name_list import required_name_list
from heliograph.transforms.stage import StageOption, Transform

_HEADERS = "headers"


class DropHeaders(Transform):
    """Removes every header that has one of the given names; the others stay in their order."""

    OPTIONS = (StageOption(_HEADERS, "The names of the headers to remove, separated by commas.", is_required=True),)
    may_reroute = False

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `headers`."""
        self._names = frozenset(required_name_list(settings, _HEADERS))

    def apply(self, message: Message) -> Message:
        """The message without those headers."""
        if message.headers:
            message.headers = [header for header in message.headers if header.name not in self._names]
        return message
