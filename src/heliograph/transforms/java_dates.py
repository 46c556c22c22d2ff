"""Java's `SimpleDateFormat` in UTC and English: dates as texts, and texts as dates, as leniently as there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import inf
from typing import NamedTuple

from heliograph.transforms.java_calendar import DAY_MS, Day, Part, day_of, first_day, moment_of
from heliograph.transforms.java_numbers import double_to_integer, wrap

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ERAS = ("BC", "AD")
_HALVES = ("AM", "PM")
_LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_MOST_X = 3
_LONG_DIGITS = 19
# The names of zones that people write, in minutes from UTC.
_ZONES = {
    "Coordinated Universal Time": 0, "Greenwich Mean Time": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60,
    "CET": 60, "CEST": 120, "EET": 120, "EEST": 180, "MSK": 180, "JST": 540,
    "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
    "HST": -600,
}  # fmt: skip
_NUMBER = re.compile(r"(?P<sign>-?)(?P<digits>\d+)(?:E(?P<exponent>-?\d+))?")
_OFFSET = {
    "Z": re.compile(r"(\d\d)(\d\d)", re.ASCII),
    "GMT": re.compile(r"(\d\d?):(\d\d)", re.ASCII),
    "X": re.compile(r"(\d\d)", re.ASCII),
    "XX": re.compile(r"(\d\d)(\d\d)", re.ASCII),
    "XXX": re.compile(r"(\d\d):(\d\d)", re.ASCII),
}


class _Moment(NamedTuple):
    day: Day
    ms: int  # of the day


class _Field(NamedTuple):
    letter: str
    width: int


_Piece = str | _Field  # text as it is, or a field


class DateFormat:
    """A pattern of `SimpleDateFormat`; ValueError if it is none."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = tuple(_pieces(pattern))
        self._writers = tuple(_writer(piece) for piece in self._pieces)
        self._quick = _quick_reader(self._pieces)
        self._century = _century_start()

    def __reduce__(self) -> tuple[type[DateFormat], tuple[str]]:
        return DateFormat, (self.pattern,)

    @property
    def step_ms(self) -> int:
        """Moments of the same step since 1970 have the same text."""
        letters = {piece.letter for piece in self._pieces if isinstance(piece, _Field)}
        if "S" in letters:
            return 1
        if "s" in letters:
            return 1000
        if "m" in letters:
            return _MINUTE_MS
        return _HOUR_MS if letters & set("HkKha") else DAY_MS

    def format(self, ms: int) -> str:
        """The text of a moment."""
        days, rest = divmod(ms, DAY_MS)
        moment = _Moment(_known_day(days), rest)
        return "".join([write(moment) for write in self._writers])

    def parse(self, text: str) -> int:
        """The moment that a text begins with; ValueError if it does not fit the pattern."""
        found = self._quick(text) if self._quick else None
        return self._parse(text) if found is None else found

    def _parse(self, text: str) -> int:
        reading = _Reading(text, self._century.year)
        for index, piece in enumerate(self._pieces):
            if isinstance(piece, str):
                reading.skip(piece)
            else:
                following = self._pieces[index + 1] if index + 1 < len(self._pieces) else None
                reading.read(piece, isinstance(following, _Field) and _is_number(following))
        if reading.at == 0:
            raise ValueError("the text has none of the pattern")
        ms = moment_of(reading.parts)
        if reading.is_ambiguous and ms < self._century.ms:
            ms = moment_of([(part, value + 100 if part in _YEARS else value) for part, value in reading.parts])
        return ms


class _Century(NamedTuple):
    ms: int
    year: int


def _century_start() -> _Century:
    """Years of two digits are within the hundred years that begin here: eighty years ago."""
    today, rest = divmod(int(time.time() * 1000), DAY_MS)
    day = day_of(today)
    year = day.year - 80
    return _Century((first_day(year, day.month) + day.day_of_month - 1) * DAY_MS + rest, year)


@lru_cache(maxsize=256)
def _known_day(days: int) -> Day:
    return day_of(days)


def _pieces(pattern: str) -> Iterator[_Piece]:
    """The fields of a pattern and the text between them, quotes resolved and neighbouring text joined."""
    text = ""
    for piece in _raw_pieces(pattern):
        if isinstance(piece, str):
            text += piece
            continue
        if text:
            yield text
            text = ""
        yield piece
    if text:
        yield text


def _raw_pieces(pattern: str) -> Iterator[_Piece]:
    for found in re.finditer(r"''|'((?:[^']|'')*)('?)|([A-Za-z])\3*|[^A-Za-z']+", pattern):
        if found[0] == "''":
            yield "'"
        elif found[0].startswith("'"):
            if not found[2]:
                raise ValueError("a quote is not closed")
            yield found[1].replace("''", "'")
        elif found[3]:
            yield _checked(_Field(found[3], len(found[0])))
        else:
            yield found[0]


def _checked(field: _Field) -> _Field:
    if field.letter not in _LETTERS:
        raise ValueError(f"{field.letter!r} means nothing in a pattern")
    if field.letter == "X" and field.width > _MOST_X:
        raise ValueError("there are at most three X in a row")
    return field


def _is_number(field: _Field) -> bool:
    return field.letter in "yYdkHmsSDFwWhKu" or (field.letter in "ML" and field.width < 3)


# What is written


_NUMBERS: dict[str, Callable[[_Moment], int]] = {
    "y": lambda moment: moment.day.year,
    "Y": lambda moment: moment.day.week_year,
    "M": lambda moment: moment.day.month + 1,
    "d": lambda moment: moment.day.day_of_month,
    "D": lambda moment: moment.day.day_of_year,
    "F": lambda moment: moment.day.week_of_weekday,
    "w": lambda moment: moment.day.week_of_year,
    "W": lambda moment: moment.day.week_of_month,
    "u": lambda moment: (moment.day.day_of_week + 5) % 7 + 1,
    "H": lambda moment: moment.ms // _HOUR_MS,
    "k": lambda moment: moment.ms // _HOUR_MS or 24,
    "K": lambda moment: moment.ms // _HOUR_MS % 12,
    "h": lambda moment: moment.ms // _HOUR_MS % 12 or 12,
    "m": lambda moment: moment.ms // _MINUTE_MS % 60,
    "s": lambda moment: moment.ms // 1000 % 60,
    "S": lambda moment: moment.ms % 1000,
}
_NUMBERS["L"] = _NUMBERS["M"]


def _writer(piece: _Piece) -> Callable[[_Moment], str]:
    if isinstance(piece, str):
        return lambda _: piece
    if _is_number(piece):
        return _number_writer(piece)
    return _name_writer(piece)


def _number_writer(field: _Field) -> Callable[[_Moment], str]:
    number, count = _NUMBERS[field.letter], field.width
    if field.letter in "yY" and count == 2:
        return lambda moment: _last_two(number(moment))
    return lambda moment: _padded(number(moment), count)


def _last_two(number: int) -> str:
    return _padded(abs(number) % 100 * (1 if number >= 0 else -1), 2)


def _padded(number: int, count: int) -> str:
    return f"{number:0{count}d}" if number >= 0 else f"-{-number:0{count}d}"


def _name_writer(field: _Field) -> Callable[[_Moment], str]:
    size = None if field.width > 3 else 3
    if field.letter in "ML":
        return lambda moment: _MONTHS[moment.day.month][:size]
    if field.letter == "E":
        return lambda moment: _WEEKDAYS[moment.day.day_of_week - 1][:size]
    if field.letter == "G":
        return lambda moment: _ERAS[moment.day.era]
    if field.letter == "a":
        return lambda moment: _HALVES[moment.ms // _HOUR_MS // 12]
    zone = {"z": "UTC" if size else "Coordinated Universal Time", "Z": "+0000", "X": "Z"}[field.letter]
    return lambda _: zone


# What is read


_PARTS = {
    "y": Part.YEAR, "Y": Part.WEEK_YEAR, "d": Part.DAY_OF_MONTH, "H": Part.HOUR_OF_DAY, "m": Part.MINUTE,
    "s": Part.SECOND, "S": Part.MILLISECOND, "D": Part.DAY_OF_YEAR, "F": Part.DAY_OF_WEEK_IN_MONTH,
    "w": Part.WEEK_OF_YEAR, "W": Part.WEEK_OF_MONTH, "K": Part.HOUR,
}  # fmt: skip
_YEARS = (Part.YEAR, Part.WEEK_YEAR)


class _Reading:
    """A text on its way through a pattern."""

    def __init__(self, text: str, century_year: int) -> None:
        self.at = 0
        self.parts: list[tuple[Part, int]] = []
        self.is_ambiguous = False
        self._text = text
        self._century_year = century_year

    def skip(self, expected: str) -> None:
        """Text that must be there as it is."""
        if not self._text.startswith(expected, self.at):
            raise ValueError("the text between the fields is another one")
        self.at += len(expected)

    def read(self, field: _Field, is_counted: bool) -> None:
        """A field; counted if the next one follows without anything between."""
        start = self.at
        while self._text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.at >= len(self._text):
            raise ValueError("the text ends too early")
        if _is_number(field):
            self._read_number(field, start + field.width if is_counted else None)
        elif field.letter in "MLEGa":
            self._read_name(field.letter, start)
        else:
            self._read_zone(field)

    def _read_number(self, field: _Field, end: int | None) -> None:
        if end is not None and end > len(self._text):
            raise ValueError("the text ends too early")
        found = _number(self._text, self.at, len(self._text) if end is None else end)
        if not found:
            raise ValueError(f"there is no number for {field.letter!r}")
        start = self.at
        value, self.at = found
        letter = field.letter
        if letter in "yY":
            self._set_year(field, value, self._text[start : self.at])
        elif letter in "ML":
            self.parts.append((Part.MONTH, wrap(value - 1, 32)))
        elif letter == "k":
            self.parts.append((Part.HOUR_OF_DAY, 0 if value == 24 else value))
        elif letter == "h":
            self.parts.append((Part.HOUR, 0 if value == 12 else value))
        elif letter == "u":
            is_valid = 1 <= value <= 7
            self.parts.append((Part.DAY_OF_WEEK, value % 7 + 1 if is_valid else value))
        else:
            self.parts.append((_PARTS[letter], value))

    def _set_year(self, field: _Field, value: int, digits: str) -> None:
        if field.width <= 2 and len(digits) == 2 and digits.isdecimal():
            century, first = divmod(self._century_year, 100)
            self.is_ambiguous = value == first
            value += century * 100 + (100 if value < first else 0)
        self.parts.append((_PARTS[field.letter], value))

    def _read_name(self, letter: str, start: int) -> None:
        """A name, in full or its first three letters. As in Java, there must be no blank before it."""
        part, names, first = {
            "M": (Part.MONTH, _MONTHS, 0),
            "L": (Part.MONTH, _MONTHS, 0),
            "E": (Part.DAY_OF_WEEK, _WEEKDAYS, 1),
            "G": (Part.ERA, _ERAS, 0),
            "a": (Part.AM_PM, _HALVES, 0),
        }[letter]
        rest = self._text[start : start + max(map(len, names))].lower()
        for candidates in (names, [name[:3] for name in names]):
            for index, name in enumerate(candidates):
                if rest.startswith(name.lower()):
                    self.parts.append((part, index + first))
                    self.at = start + len(name)
                    return
        raise ValueError(f"there is no name for {letter!r}")

    def _read_zone(self, field: _Field) -> None:
        if field.letter == "X":
            if self._text[self.at] == "Z":
                self.at += 1
                self._set_zone(0)
            else:
                self._read_offset("X" * field.width)
        elif self._text[self.at] in "+-":
            self._read_offset("Z")
        elif self._text[self.at : self.at + 3].upper() == "GMT":
            self.at += 3
            if self._text[self.at : self.at + 1] in ("+", "-"):
                self._read_offset("GMT")
            else:
                self._set_zone(0)
        else:
            self._read_zone_name()

    def _read_offset(self, kind: str) -> None:
        found = _OFFSET[kind].match(self._text, self.at + 1)
        sign = {"+": 1, "-": -1}.get(self._text[self.at])
        if not sign or not found:
            raise ValueError("there is no offset from UTC")
        hours, minutes = int(found[1]), int(found[2]) if found.lastindex == 2 else 0
        if hours > 23 or minutes > 59:
            raise ValueError("there is no such offset from UTC")
        self.at = found.end()
        self._set_zone(sign * (hours * 60 + minutes))

    def _read_zone_name(self) -> None:
        rest = self._text[self.at : self.at + 40].lower()
        name = max((name for name in _ZONES if rest.startswith(name.lower())), key=len, default=None)
        if name is None:
            raise ValueError("there is no known zone")
        self.at += len(name)
        self._set_zone(_ZONES[name])

    def _set_zone(self, minutes: int) -> None:
        self.parts.append((Part.ZONE_OFFSET, minutes * _MINUTE_MS))


def _number(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The number that begins here, as Java's `Number.intValue` has it, and where it ends."""
    found = _NUMBER.match(text, start, end)
    if not found:
        return None
    digits, is_negative = _ascii_digits(found["digits"]), found["sign"] == "-"
    exponent = _exponent(found["exponent"])
    if exponent is None:
        return _int_value(digits, len(digits), is_negative), found.end("digits")
    # The place of the point is an int there, and goes round like one.
    point = wrap(len(digits) + wrap(exponent, 32), 32)
    return _int_value(digits, point, is_negative), found.end()


def _exponent(text: str | None) -> int | None:
    """None if it is more than a long: then Java does not take it for one."""
    if text is None:
        return 0
    digits = _ascii_digits(text.lstrip("-"))
    number = int(digits or 0) if len(digits) <= _LONG_DIGITS else 1 << 64
    number = -number if text.startswith("-") else number
    return number if wrap(number, 64) == number else None


def _ascii_digits(text: str) -> str:
    """Digits of any script, without zeros before them."""
    return "".join([str(int(digit)) for digit in text]).lstrip("0")


def _int_value(digits: str, point: int, is_negative: bool) -> int:
    """The digits before the point: of 64 bits the lowest ones, of more the nearest that fits."""
    if not digits or point <= 0:
        return 0
    sign = -1 if is_negative else 1
    if point > _LONG_DIGITS:
        return double_to_integer(sign * inf, 32)
    number = sign * int(digits[:point].ljust(point, "0"))
    if wrap(number, 64) != number or digits[point:].strip("0"):  # a double
        return double_to_integer(float(number), 32)
    return wrap(number, 32)


# Most texts are of full width and within bounds: those are read at once


_WIDTHS = {"y": 4, "M": 2, "d": 2, "H": 2, "m": 2, "s": 2, "S": 3}
_OLDEST_QUICK = 1600


def _quick_reader(pieces: tuple[_Piece, ...]) -> Callable[[str], int | None] | None:
    """What reads texts that look just like the pattern, if it is a simple one; None from it for all other texts."""
    fields = [piece for piece in pieces if isinstance(piece, _Field)]
    letters = [field.letter for field in fields]
    is_simple = all(
        _WIDTHS.get(field.letter) == field.width or (field.letter == "X" and field.width <= _MOST_X) for field in fields
    )
    if not is_simple or len(set(letters)) < len(letters) or not {"y", "M", "d"} <= set(letters):
        return None
    match = re.compile(_quick_pattern(pieces), re.ASCII).match

    def read(text: str) -> int | None:
        found = match(text)
        return None if found is None else _quick_moment(found.groupdict())

    return read


def _quick_pattern(pieces: tuple[_Piece, ...]) -> str:
    pattern = ""
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            pattern += re.escape(piece)
        elif piece.letter == "X":
            pattern += "Z"
        else:
            is_followed = index + 1 < len(pieces) and isinstance(pieces[index + 1], _Field)
            pattern += rf"(?P<{piece.letter}>\d{{{piece.width}}})" + ("" if is_followed else r"(?![\dE])")
    return pattern


def _quick_moment(found: dict[str, str]) -> int | None:
    year, month, day = int(found["y"]), int(found["M"]), int(found["d"])
    if year < _OLDEST_QUICK:
        return None
    hour, minute, second = int(found.get("H", 0)), int(found.get("m", 0)), int(found.get("s", 0))
    seconds = (hour * 60 + minute) * 60 + second
    return (first_day(year, month - 1) + day - 1) * DAY_MS + seconds * 1000 + int(found.get("S", 0))
