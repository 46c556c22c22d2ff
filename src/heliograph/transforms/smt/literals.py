"""Literals in settings: the value that Kafka Connect takes a text for, which may be a number, a date, a list, a map.

Values of the lists and maps are literals again, since each may be of another type.
"""

from __future__ import annotations

from decimal import Decimal
from math import isinf
from typing import Any, NamedTuple

from heliograph.transforms.formats.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from heliograph.transforms.java_calendar import DAY_MS
from heliograph.transforms.java_dates import DateFormat
from heliograph.transforms.java_numbers import decimal_to_float32, to_double, to_float32, wrap
from heliograph.transforms.schema import DATE, TIME, TIMESTAMP, Instant, Schema, Type
from heliograph.transforms.smt.big_decimal import big_decimal
from heliograph.transforms.smt.values import DATE_FORMAT, TIME_FORMAT, TIMESTAMP_FORMAT, embedded_text

_BLANKS = "".join(map(chr, range(33)))
_DELIMITERS = ':,{}[]"'
_INTEGERS = ((Type.INT8, 8), (Type.INT16, 16), (Type.INT32, 32), (Type.INT64, 64))
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)  # each has room for those before
_LARGEST_POWER = 400  # no double is near ten to this
_MOMENTS: dict[int, tuple[Schema, DateFormat]] = {
    len("HH:mm:ss.SSSZ"): (TIME_SCHEMA, TIME_FORMAT),
    len("yyyy-MM-ddTHH:mm:ss.SSSZ"): (TIMESTAMP_SCHEMA, TIMESTAMP_FORMAT),
    len("yyyy-MM-dd"): (DATE_SCHEMA, DATE_FORMAT),
}
_TIME_TOKENS = 4  # colons part tokens: so many come after the first one of a time


class Literal(NamedTuple):
    """A value and its schema. Lists hold literals, maps are tuples of pairs of them; null is None there."""

    schema: Schema
    value: Any


class _NoCollection(Exception):
    """What looked like a list or a map is text."""


def parse_literal(text: str) -> Literal | None:
    """The value that a text stands for; None for null."""
    return Literal(Schema(Type.STRING), text) if not text else _parse(_Tokens(text), is_embedded=False)


def literal_text(literal: Literal, is_embedded: bool = False) -> str:
    """A literal as the text that a header holds."""
    schema, value = literal
    if isinstance(value, list):
        return "[" + ",".join(map(_element_text, value)) + "]"
    if isinstance(value, tuple) and schema.type is Type.MAP:
        return "{" + ",".join(f"{_element_text(key)}:{_element_text(item)}" for key, item in value) + "}"
    return value if isinstance(value, str) and not is_embedded else embedded_text(schema, value)


def _element_text(literal: Literal | None) -> str:
    return "null" if literal is None else literal_text(literal, is_embedded=True)


class _Tokens:
    """A text cut at its delimiters, with a look at the token ahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._ahead: str | None = None

    def mark(self) -> int:
        return self._at - len(self._ahead or "")

    def rewind(self, mark: int) -> None:
        self._at, self._ahead = mark, None

    def has_next(self) -> bool:
        return self._ahead is not None or self._at < len(self.text)

    def next(self) -> str:
        token, self._ahead = self._ahead, None
        return self._cut() if token is None else token

    def next_joined(self, count: int) -> str | None:
        """So many tokens at once; None, and nothing taken, if there are not so many."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def take(self, expected: str) -> bool:
        """Take the next token if it is this one, whatever blanks are around it."""
        if not self.has_next():
            return False
        if self._ahead is None:
            self._ahead = self._cut()
        while not _trimmed(self._ahead) and self._at < len(self.text):
            self._ahead = self._cut()
        if _trimmed(self._ahead) != expected:
            return False
        self._ahead = None
        return True

    def _cut(self) -> str:
        start, is_escaped = self._at, False
        while self._at < len(self.text):
            character = self.text[self._at]
            if character in _DELIMITERS and not is_escaped:
                self._at += start == self._at
                break
            is_escaped = character == "\\" and not is_escaped
            self._at += 1
        return self.text[start : self._at]


def _trimmed(text: str) -> str:
    return text.strip(_BLANKS)


def _parse(tokens: _Tokens, is_embedded: bool) -> Literal | None:
    if not tokens.has_next():
        return None
    if is_embedded and tokens.take('"'):
        return _parse_quoted(tokens)
    for word, literal in _WORDS.items():
        if _takes_word(tokens, word, is_embedded):
            return literal
    start = tokens.mark()
    try:
        if tokens.take("["):
            return _parse_list(tokens)
        if tokens.take("{"):
            return _parse_map(tokens)
    except _NoCollection:
        tokens.rewind(start)
    token = tokens.next()
    return _parse_token(tokens, _trimmed(token), is_embedded) if _trimmed(token) else _string(token)


_WORDS = {
    "null": None,
    "true": Literal(Schema(Type.BOOLEAN), True),
    "false": Literal(Schema(Type.BOOLEAN), False),
}


def _takes_word(tokens: _Tokens, word: str, is_embedded: bool) -> bool:
    start = tokens.mark()
    if tokens.take(word) and (is_embedded or not tokens.has_next()):
        return True
    tokens.rewind(start)
    return False


def _string(text: str) -> Literal:
    return Literal(Schema(Type.STRING), text)


def _parse_token(tokens: _Tokens, token: str, is_embedded: bool) -> Literal:
    is_digit = token[0].isdecimal()
    found = _parse_moment_tokens(tokens, token) if is_digit else None
    if found is None and (is_digit or token[0] in "+-"):
        found = _parse_number(token)
    if found is not None:
        return found
    if is_embedded:
        raise _NoCollection
    return _string(tokens.text)


def _parse_quoted(tokens: _Tokens) -> Literal:
    content = ""
    while tokens.has_next() and not tokens.take('"'):
        content += tokens.next()
    return _parse_moment(content) or _string(content)


def _parse_moment_tokens(tokens: _Tokens, token: str) -> Literal | None:
    start = tokens.mark()
    rest = tokens.next_joined(_TIME_TOKENS)
    found = None if rest is None else _parse_moment(token + rest)
    if found is None:
        tokens.rewind(start)
        found = _parse_moment(token)
    return found


def _parse_moment(text: str) -> Literal | None:
    text = text.replace("\\:", ":")
    known = _MOMENTS.get(len(text))
    if known is None:
        return None
    schema, dates = known
    try:
        return Literal(schema, Instant(dates.parse(text)))
    except ValueError:
        return None


def _parse_number(token: str) -> Literal | None:
    """The smallest type of integer that has room, else a float, else a double, else a decimal."""
    try:
        number = big_decimal(token)
    except ValueError:
        return None
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if number.adjusted() <= _LARGEST_POWER and number == number.to_integral_value():
        for kind, bits in _INTEGERS:
            if wrap(int(number), bits) == number:
                return Literal(Schema(kind), int(number))
    return _parse_fraction(number, scale=-exponent)


def _parse_fraction(number: Decimal, scale: int) -> Literal:
    if scale and not isinf(narrow := decimal_to_float32(number)):
        return Literal(Schema(Type.FLOAT32), narrow)
    if scale and not isinf(double := to_double(number)):
        return Literal(Schema(Type.FLOAT64), double)
    return Literal(decimal_schema(scale), number)


def _parse_list(tokens: _Tokens) -> Literal:
    items: list[Literal | None] = []
    while tokens.has_next():
        if tokens.take("]"):
            common = _common_schema(items)
            aligned = items if common is None else [_aligned(item, common) for item in items]
            return Literal(Schema(Type.ARRAY, value_schema=common), aligned)
        if tokens.take(","):
            raise _NoCollection
        items.append(_parse(tokens, is_embedded=True))
        here = tokens.mark()
        if tokens.take("]"):
            tokens.rewind(here)
        elif not tokens.take(","):
            raise _NoCollection
    raise _NoCollection


def _parse_map(tokens: _Tokens) -> Literal:
    pairs: list[tuple[Literal, Literal | None]] = []
    while tokens.has_next():
        if tokens.take("}"):
            return _map_of(pairs)
        if tokens.take(","):
            raise _NoCollection
        key = _parse(tokens, is_embedded=True)
        if key is None or not tokens.take(":"):
            raise _NoCollection
        pairs = _with_pair(pairs, key, _parse(tokens, is_embedded=True))
        tokens.take(",")
    raise _NoCollection


def _with_pair(
    pairs: list[tuple[Literal, Literal | None]], key: Literal, value: Literal | None
) -> list[tuple[Literal, Literal | None]]:
    """As in any map a key is there once, in its first place and with its last value."""
    if any(known == key for known, _ in pairs):
        return [(known, value if known == key else old) for known, old in pairs]
    return [*pairs, (key, value)]


def _map_of(pairs: list[tuple[Literal, Literal | None]]) -> Literal:
    keys, values = _common_schema([key for key, _ in pairs]), _common_schema([value for _, value in pairs])
    if keys is None:
        return Literal(Schema(Type.MAP), tuple(pairs))
    aligned = tuple((_aligned(key, keys), value if values is None else _aligned(value, values)) for key, value in pairs)
    return Literal(Schema(Type.MAP, key_schema=keys, value_schema=values), aligned)


def _common_schema(literals: list[Literal] | list[Literal | None] | list[Any]) -> Schema | None:
    """The schema that has room for all; None if there is none, or if all are null."""
    common: Schema | None = None
    for literal in literals:
        if literal is None:
            continue
        if common is None:
            common = literal.schema
            continue
        common = _wider(common, literal.schema)
        if common is None:
            return None
    return common


def _wider(one: Schema, other: Schema) -> Schema | None:
    if one.type is other.type:
        return other
    if one.type in _NUMBERS and other.type in _NUMBERS:
        return max(one, other, key=lambda schema: _NUMBERS.index(schema.type))
    return None


def _aligned(literal: Literal | None, schema: Schema) -> Literal:
    if literal is None:
        raise _NoCollection
    value = literal.value
    if isinstance(value, Instant):
        if schema.name not in (DATE, TIME, TIMESTAMP):
            raise _NoCollection
        return Literal(schema, value)
    if schema.name in (DATE, TIME, TIMESTAMP):
        return Literal(schema, _moment_of(value, schema))
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return Literal(schema, to_float32(value) if schema.type is Type.FLOAT32 else float(value))
    return literal if schema.type not in _NUMBERS else Literal(schema, value)


def _moment_of(number: int, schema: Schema) -> Instant:
    if schema.name == TIME and not 0 <= number <= DAY_MS:
        raise _NoCollection
    return Instant(number * DAY_MS if schema.name == DATE else number)
