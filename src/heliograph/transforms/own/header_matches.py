"""HeaderMatches: which messages have a header with a certain value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.transforms.message import Message
from heliograph.transforms.own.comparison import OPERATOR_OPTION, VALUE_OPTION, comparison
from heliograph.transforms.own.missing import IF_MISSING_OPTION, Missing
from heliograph.transforms.stage import Predicate, StageOption


class HeaderMatches(Predicate):
    """True for messages with a header that is as wanted; of several with the name, one is enough."""

    OPTIONS = (
        StageOption("name", "The name of the header.", is_required=True),
        OPERATOR_OPTION,
        VALUE_OPTION,
        IF_MISSING_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the name and the comparison."""
        self._name = settings["name"]
        self._compare = comparison(settings)
        self._missing = Missing.of(settings)

    def test(self, message: Message) -> bool:
        """Whether there is such a header."""
        found = [_value(header.value) for header in message.headers if header.name == self._name]
        if not found:
            return self._missing.answer(f"HeaderMatches: there is no header {self._name}")
        return any(map(self._compare, found))


def _value(data: bytes | None) -> Any:
    """Text where it is some, else the bytes, which are equal to no text."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
