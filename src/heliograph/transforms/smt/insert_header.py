"""Adds a header."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.message import Header, Message
from heliograph.transforms.smt.literals import literal_text, parse_literal
from heliograph.transforms.stage import StageOption, Transform

_HEADER = "header"
_LITERAL = "value.literal"


class InsertHeader(Transform):
    """Adds the same header to every message, behind those that it has; even if it has one of that name."""

    OPTIONS = (
        StageOption(_HEADER, "The name of the header.", is_required=True),
        StageOption(
            _LITERAL,
            "Its value. Numbers, dates, lists and maps are recognised and written as Kafka Connect writes them.",
            is_required=True,
        ),
    )
    may_reroute = False

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `header` and `value.literal`."""
        literal = parse_literal(settings[_LITERAL])
        self._header = Header(settings[_HEADER], None if literal is None else literal_text(literal).encode())

    def apply(self, message: Message) -> Message:
        """The message with the header."""
        message.headers = [*message.headers, self._header]
        return message
