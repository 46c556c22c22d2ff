"""Java's regular expressions with the meaning of its `matches`: the whole text, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import regex

from heliograph.policy.java_syntax import JavaRegexError, translate

__all__ = ["JavaPattern", "JavaRegexError", "compile", "matches_any"]

_MATCHES_NOTHING = "(?!)"


@dataclass(frozen=True)
class JavaPattern:
    """A compiled Java regular expression."""

    pattern: str
    _compiled: regex.Pattern[str] = field(repr=False, compare=False)

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the text from its first to its last character."""
        return self._compiled.fullmatch(text) is not None


def compile(pattern: str) -> JavaPattern:
    """Compile a pattern as Java would; raises JavaRegexError for one that Java refuses."""
    try:
        return JavaPattern(pattern, regex.compile(translate(pattern), regex.V1))
    except regex.error as error:
        raise JavaRegexError(pattern, 0, f"cannot be used: {error.msg}") from None


def matches_any(patterns: Sequence[str]) -> JavaPattern:
    """One pattern for a list, joined with `|` before compiling as MM2 does; no pattern matches nothing."""
    return compile("|".join(patterns) if patterns else _MATCHES_NOTHING)
