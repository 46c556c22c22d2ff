"""Text of a value to its type, by the rules of Kafka's ConfigDef."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from heliograph.config.option import Kind, Option, Value
from heliograph.config.secret import Secret
from heliograph.policy import java_regex

if TYPE_CHECKING:
    from collections.abc import Callable

_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?[dDfF]?")
_BITS: Final = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


class BadValueError(ValueError):
    """A value does not fit its option; says why and what would fit, and never repeats the value."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def trim(text: str) -> str:
    """Strip what Java's String.trim strips."""
    return text.strip(_JAVA_BLANKS)


def split_list(text: str) -> tuple[str, ...]:
    """Split a comma list as Kafka does: blanks around commas go, empty items stay, blank text is no item."""
    text = trim(text)
    return tuple(re.split(r"\s*,\s*", text)) if text else ()


def parse_value(option: Option, text: str) -> Value:
    """The typed value of an option; raise BadValueError where Kafka would refuse it."""
    value = _PARSERS[option.kind](option, trim(text))
    _check_pattern(option, value)
    return _normalised_choice(option, value) if option.choices else value


def _text(_option: Option, text: str) -> str:
    return text


def _secret(_option: Option, text: str) -> Secret:
    return Secret(text)


def _list(_option: Option, text: str) -> tuple[str, ...]:
    return split_list(text)


def _boolean(_option: Option, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise BadValueError("is neither true nor false", "write true or false")
    return text.lower() == "true"


def _whole_number(option: Option, text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise BadValueError("is not a whole number", f"write a whole number{_range_text(option)}")
    number = int(text)
    limit = 2 ** (_BITS[option.kind] - 1)
    if not -limit <= number < limit:
        raise BadValueError(f"does not fit the type {option.kind.value}", f"the largest value is {limit - 1}")
    _check_range(option, number)
    return number


def _decimal(option: Option, text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise BadValueError("is not a number", f"write a number{_range_text(option)}")
    number = float(text.rstrip("dDfF"))
    if math.isinf(number):
        raise BadValueError("is too large for a double", f"write a number{_range_text(option)}")
    _check_range(option, number)
    return number


def _regexes(_option: Option, text: str) -> tuple[str, ...]:
    items = repaired_regexes(text)
    try:
        java_regex.matches_any(items)
    except java_regex.JavaRegexError as error:
        raise BadValueError(
            f"is not a list of Java regular expressions: {error.reason}",
            "items are split at commas and joined with |; in this file a backslash is written \\\\",
        ) from None
    return items


def repaired_regexes(text: str) -> tuple[str, ...]:
    """The items of a list of regexes: quotes around the list go, and a leading `*` reads as `.*`."""
    items = split_list(unquoted(text))
    return tuple(f".{item}" if item.startswith("*") else item for item in items)


def unquoted(text: str) -> str:
    """The text without a pair of double quotes around the whole of it."""
    text = trim(text)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _check_range(option: Option, number: float) -> None:
    if option.minimum is not None and number < option.minimum:
        raise BadValueError("is too small", f"write a number{_range_text(option)}")
    if option.maximum is not None and number > option.maximum:
        raise BadValueError("is too large", f"write a number{_range_text(option)}")
    if not option.zero_allowed and number == 0:
        raise BadValueError("must not be 0", f"write a number{_range_text(option)}, but not 0")


def _range_text(option: Option) -> str:
    if option.minimum is not None and option.maximum is not None:
        return f" from {option.minimum:g} to {option.maximum:g}"
    return f" of {option.minimum:g} or more" if option.minimum is not None else ""


def _check_pattern(option: Option, value: Value) -> None:
    items = value if isinstance(value, tuple) else (str(value),)
    if option.pattern and not all(re.fullmatch(option.pattern, item) for item in items):
        raise BadValueError(f"does not look like {option.example}", f"write {option.example}")


def _normalised_choice(option: Option, value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(_choice(option, item) for item in value)
    return _choice(option, str(value))


def _choice(option: Option, text: str) -> str:
    for choice in option.choices:
        if choice.lower() == text.lower():
            return choice
    raise BadValueError("is not one of the possible values", f"write {' or '.join(option.choices)}")


_PARSERS: Final[dict[Kind, Callable[[Option, str], Value]]] = {
    Kind.STRING: _text,
    Kind.CLASS: _text,
    Kind.PASSWORD: _secret,
    Kind.LIST: _list,
    Kind.REGEXES: _regexes,
    Kind.BOOLEAN: _boolean,
    Kind.SHORT: _whole_number,
    Kind.INT: _whole_number,
    Kind.LONG: _whole_number,
    Kind.DOUBLE: _decimal,
}
