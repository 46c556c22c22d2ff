"""Headers that an operator wants on every response, as Kafka Connect's `response.http.headers.config` says them."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Final

_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_FORM: Final = "[set|add|setDate|addDate] name: value"


@dataclass(frozen=True)
class HeaderRule:
    """One header; dates are given as milliseconds from now."""

    name: str
    value: str
    replaces: bool
    is_date: bool

    @classmethod
    def parse(cls, text: str) -> HeaderRule:
        """The rule of an item such as `set X-Frame-Options: DENY`; raises ValueError."""
        action, _, header = text.strip().partition(" ")
        name, colon, value = (part.strip() for part in header.partition(":"))
        known = next((known for known in _ACTIONS if known.lower() == action.lower()), "")
        if not (known and colon and _NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise ValueError(f"is not a list of {_FORM}")
        is_date = known.endswith("Date")
        if is_date and not re.fullmatch(r"-?[0-9]{1,15}", value):
            raise ValueError(f"{known} takes milliseconds from now")
        return cls(name, value, known.startswith("set"), is_date)


def parse_header_rules(text: str) -> tuple[HeaderRule, ...]:
    """All rules of a setting: items are split at commas, and those that hold one stand in double quotes."""
    try:
        items = next(csv.reader([text.strip()], skipinitialspace=True), [])
    except csv.Error:
        raise ValueError(f"is not a list of {_FORM}") from None
    return tuple(HeaderRule.parse(item) for item in items)
