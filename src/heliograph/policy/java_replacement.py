"""Java's `Matcher.replaceFirst`: a text made anew with what the groups of a regular expression have matched."""

from __future__ import annotations

import re

import regex

from heliograph.policy import java_regex
from heliograph.policy.java_syntax import translate

_NAME = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")
_DIGITS = "0123456789"


class FirstReplacement:
    """A regular expression and what its first match in a text becomes, if it matches the whole text too.

    In the replacement $1 and ${name} stand for groups, and a backslash makes the next character an ordinary one.
    """

    def __init__(self, pattern: str, replacement: str) -> None:
        self._whole = java_regex.compile(pattern)
        # Java looks for the first match anew, and that can be shorter than the whole: a|ab in "ab" is a.
        self._first = regex.compile(translate(pattern), regex.V1)
        self._parts = _Parser(replacement, self._first).run()

    def replaced(self, text: str) -> str:
        """The text with its first match replaced; as it is if the pattern does not match all of it."""
        match = self._first.search(text) if self._whole.matches(text) else None
        if match is None:
            return text
        inserted = "".join((match[part] or "") if isinstance(part, int) else part for part in self._parts)
        return f"{text[: match.start()]}{inserted}{text[match.end() :]}"


class _Parser:
    """Reads a replacement from left to right into pieces of text and numbers of groups."""

    def __init__(self, replacement: str, pattern: regex.Pattern[str]) -> None:
        self._text = replacement
        self._pattern = pattern
        self._at = 0

    def run(self) -> tuple[str | int, ...]:
        parts: list[str | int] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == "$":
                parts.append(self._group())
            elif character == "\\":
                parts.append(self._escaped())
            else:
                parts.append(character)
        return tuple(parts)

    def _escaped(self) -> str:
        if self._at == len(self._text):
            raise self._error("nothing follows the backslash at the end")
        self._at += 1
        return self._text[self._at - 1]

    def _group(self) -> int:
        following = self._text[self._at : self._at + 1]
        if following == "{":
            return self._named()
        if not following or following not in _DIGITS:
            raise self._error("a group must follow '$', such as $1 or ${name}; a literal is '\\$'")
        return self._numbered()

    def _named(self) -> int:
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._error("'${' needs the name of a group and '}' after it")
        if found[1] not in self._pattern.groupindex:
            raise self._error(f"the regular expression has no group named {found[1]!r}")
        self._at = found.end()
        return int(self._pattern.groupindex[found[1]])

    def _numbered(self) -> int:
        """As many digits as there are groups for."""
        number = int(self._text[self._at])
        self._at += 1
        while (digit := self._text[self._at : self._at + 1]) and digit in _DIGITS:
            longer = 10 * number + int(digit)
            if longer > self._pattern.groups:
                break
            number = longer
            self._at += 1
        if number > self._pattern.groups:
            raise self._error(f"the regular expression has {self._pattern.groups} groups, and not a group {number}")
        return number

    def _error(self, reason: str) -> ValueError:
        return ValueError(f"{self._text!r}, character {self._at}: {reason}")
