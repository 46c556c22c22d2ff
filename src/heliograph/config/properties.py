"""Java's .properties format: text in, entries with their line numbers out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import javaproperties

from heliograph.config.problem import Problem, Severity
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGICAL_LINE = re.compile(r"(?:[^\\\r\n]|\\(?:\r\n|[\s\S]|\Z))*(?:\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LOST_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\[^tnfru\\ :=#!\"'\r\n\t\f]")
_UTF8_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Entry:
    """One key with its value, and the line on which it begins; and who holds it, if not the file that was read."""

    key: str
    value: str
    line: int  # 0: a variable that is one value, or a change while the flow runs
    variable: str = ""
    file: str = ""

    @property
    def place(self) -> str:
        """Where it stands, as one says it in a sentence."""
        if self.variable or self.file:
            return f"in {self.variable or self.file}" + (f", line {self.line}" if self.line else "")
        return f"on line {self.line}"


@dataclass(frozen=True)
class PropertiesFile:
    """The entries that count (of a repeated key the last), in file order, and what was doubtful."""

    file: str
    entries: dict[str, Entry]
    problems: tuple[Problem, ...]


def read(path: Path) -> PropertiesFile:
    """Read a file; whatever keeps it from being read is a ConfigError."""
    try:
        data = path.read_bytes()
    except IsADirectoryError:
        raise _unusable(path, "is a directory", "give the path of an mm2.properties file") from None
    except FileNotFoundError:
        raise _unusable(path, "no such file", "give the path of an mm2.properties file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise _unusable(path, f"cannot be read: {reason}", "check the path and its permissions") from None
    return parse(data, str(path))


def parse(data: bytes, file: str) -> PropertiesFile:
    """Parse the bytes of a .properties file as Java does; raise ConfigError with every fault found."""
    if b"\x00" in data:
        hint = "save it as plain text; Java reads Latin-1 with \\uXXXX escapes"
        raise ConfigError([Problem(Severity.ERROR, "holds NUL bytes: not a text file", hint, file)])
    problems: list[Problem] = []
    if data.startswith(_UTF8_MARK):
        data = data.removeprefix(_UTF8_MARK)
        problems.append(
            Problem(
                Severity.WARNING,
                "begins with a UTF-8 byte order mark, which Java takes for part of the first key",
                "skipped here; save the file without it",
                file,
                1,
            )
        )
    entries: dict[str, Entry] = {}
    for item in _items(data.decode("latin-1"), file):
        if isinstance(item, Problem):
            problems.append(item)
        else:
            problems.extend(_repetition(entries, item, file))
            entries.pop(item.key, None)
            entries[item.key] = item
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise ConfigError(problems)
    return PropertiesFile(file, entries, tuple(problems))


def _unusable(path: Path, message: str, hint: str) -> ConfigError:
    return ConfigError([Problem(Severity.ERROR, message, hint, str(path).replace("\x00", "?"))])


def _items(text: str, file: str) -> Iterator[Entry | Problem]:
    position, line = 0, 1
    while position < len(text):
        try:
            for element in javaproperties.parse(text[position:]):
                if isinstance(element, javaproperties.KeyValue):
                    yield from _checked(element, file, line)
                position += len(element.source)
                line += _line_ends(element.source)
        except javaproperties.InvalidUEscapeError:
            yield _bad_escape(file, line)
            skipped = _LOGICAL_LINE.match(text, position)
            end = skipped.end() if skipped else len(text)
            line += _line_ends(text[position:end])
            position = end


def _line_ends(text: str) -> int:
    return len(_LINE_END.findall(text))


def _checked(element: javaproperties.KeyValue, file: str, line: int) -> Iterator[Entry | Problem]:
    if _LONE_SURROGATE.search(element.key) or _LONE_SURROGATE.search(element.value):
        yield Problem(
            Severity.ERROR,
            "holds half of a UTF-16 surrogate pair",
            "write characters beyond U+FFFF as two \\uXXXX escapes",
            file,
            line,
        )
        return
    if _looks_like_utf8(element.source):
        yield Problem(
            Severity.WARNING,
            "looks like UTF-8, but Java reads .properties files as Latin-1, and so does this",
            "write non-ASCII characters as \\uXXXX",
            file,
            line,
            element.key,
        )
    if _LOST_BACKSLASH.search(element.source):
        yield Problem(
            Severity.WARNING,
            "holds a single backslash, which Java drops, and so does this",
            "to keep a backslash write two, for example \\\\.",
            file,
            line,
            element.key,
        )
    yield Entry(element.key, element.value, line)


def _looks_like_utf8(source: str) -> bool:
    if source.isascii():
        return False
    try:
        source.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _bad_escape(file: str, line: int) -> Problem:
    return Problem(
        Severity.ERROR,
        "has a \\u that is not followed by four hexadecimal digits",
        "write \\uXXXX for a character, or \\\\u for a backslash and a u",
        file,
        line,
    )


def _repetition(entries: dict[str, Entry], item: Entry, file: str) -> Iterator[Problem]:
    earlier = entries.get(item.key)
    if earlier:
        yield Problem(
            Severity.WARNING,
            f"set on line {earlier.line} and again here; the last one counts",
            f"remove line {earlier.line}",
            file,
            item.line,
            item.key,
        )
