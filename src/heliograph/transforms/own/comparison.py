"""Compares a value of a record with the value of a setting."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from heliograph.policy import java_regex
from heliograph.transforms.own.plain_text import plain_text
from heliograph.transforms.settings import words
from heliograph.transforms.stage import StageOption
from heliograph.transforms.struct import Struct

Comparison = Callable[[Any], bool]  # of a value that is there

EXISTS, IS_NULL = "exists", "is-null"
_WITHOUT_VALUE = (EXISTS, IS_NULL)
_ON_TEXT: dict[str, Callable[[str, str], bool]] = {
    "contains": operators.contains,
    "starts-with": str.startswith,
    "ends-with": str.endswith,
}
_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "less": operators.lt,
    "less-equal": operators.le,
    "greater": operators.gt,
    "greater-equal": operators.ge,
}
OPERATORS = ("equals", "not-equals", "in", "matches", *_ON_TEXT, *_ORDERED, *_WITHOUT_VALUE)

OPERATOR_OPTION = StageOption(
    "operator",
    "How to compare. matches: a regular expression of Java, for the whole text. in: one of a list. less to "
    "greater-equal: as numbers where both are numbers, else as texts. exists and is-null need no value.",
    default="equals",
    choices=OPERATORS,
)
VALUE_OPTION = StageOption("value", "What to compare with; for `in`, a list separated by commas.")


def comparison(settings: Mapping[str, str]) -> Comparison:
    """The comparison that the settings `operator` and `value` ask for; ValueError if there is none."""
    name = settings.get("operator", "equals")
    wanted = settings.get("value")
    if name in _WITHOUT_VALUE:
        if wanted is not None:
            raise ValueError(f"value has no meaning with operator {name}")
        return _is_there if name == EXISTS else _is_null
    if wanted is None:
        raise ValueError(f"value is missing: operator {name} needs something to compare with")
    if name == "in":
        choices = [_equals(choice) for choice in words(settings, "value")]
        return lambda value: any(choice(value) for choice in choices)
    if name == "not-equals":
        is_equal = _equals(wanted)
        return lambda value: not is_equal(value)
    return _with_value(name, wanted)


def _with_value(name: str, wanted: str) -> Comparison:
    if name == "matches":
        return _matches(wanted)
    if name in _ON_TEXT:
        on_text = _ON_TEXT[name]
        return lambda value: _has_text(value) and on_text(plain_text(value), wanted)
    return _ordered(_ORDERED[name], wanted) if name in _ORDERED else _equals(wanted)


def _is_there(_value: Any) -> bool:
    return True


def _is_null(value: Any) -> bool:
    return value is None


def _matches(pattern: str) -> Comparison:
    try:
        compiled = java_regex.compile(pattern)
    except java_regex.JavaRegexError as error:
        raise ValueError(f"value: {error}") from None
    return lambda value: _has_text(value) and compiled.matches(plain_text(value))


def _equals(wanted: str) -> Comparison:
    number = _number(wanted)

    def is_equal(value: Any) -> bool:
        if isinstance(value, str):
            return value == wanted
        if _is_number(value):
            return number is not None and _exact(value) == number
        return _has_text(value) and plain_text(value) == wanted

    return is_equal


def _ordered(order: Callable[[Any, Any], bool], wanted: str) -> Comparison:
    number = _number(wanted)

    def is_so(value: Any) -> bool:
        if not _has_text(value):
            return False
        found = _exact(value) if _is_number(value) else _number(value) if isinstance(value, str) else None
        if found is not None and number is not None:
            return order(found, number)
        return not _is_number(value) and order(plain_text(value), wanted)

    return is_so


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _exact(value: float | Decimal) -> Decimal | None:
    """The number that its text says: 0.1 is a tenth, though no float is."""
    return _number(repr(value) if isinstance(value, float) else str(value))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _has_text(value: Any) -> bool:
    return value is not None and not isinstance(value, bytes | dict | list | Struct)
