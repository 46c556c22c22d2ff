"""Java's regular expression syntax, checked and rewritten into the syntax of the `regex` library.

The two agree on most things. What differs is spelled out here: what Java refuses is refused; quoting with
\\Q…\\E, ASCII-only classes, literal `--`, `||` and `~~` in brackets, flags, comments, anchors, references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from heliograph.policy.java_classes import PREDEFINED, literal, property_class

_QUANTIFIER = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_GROUP_NAME = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")
_PLAIN_GROUPS = ("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!")
_ANCHORS = {
    "b": r"\b",
    "B": r"\B",
    "A": r"\A",
    "G": r"\G",
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "R": r"\R",
    "X": r"\X",
}
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODE_POINT = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})")
_OCTAL = re.compile(r"0([0-3][0-7]{2}|[0-7]{1,2})")
_LAST_CODE_POINT = 0x10FFFF
_ANY_BUT_LINE_END = r"[^\n\r\x85\u2028\u2029]"


class JavaRegexError(ValueError):
    """A pattern that Java would refuse, with the position (from 0) and the reason."""

    def __init__(self, pattern: str, position: int, reason: str) -> None:
        self.pattern = pattern
        self.position = position
        self.reason = reason
        super().__init__(f"regular expression {pattern!r}, character {position + 1}: {reason}")

    def __reduce__(self) -> tuple[type[JavaRegexError], tuple[str, int, str]]:
        return (JavaRegexError, (self.pattern, self.position, self.reason))


@dataclass(frozen=True)
class _Scope:
    """What holds until the end of a group: where it began, and the flags that change the translation."""

    start: int
    dot_matches_all: bool = False
    comments: bool = False


@lru_cache(maxsize=1024)
def translate(pattern: str) -> str:
    """Rewrite a Java pattern for the `regex` library (version 1 behaviour)."""
    return _Translator(pattern).run()


class _Translator:
    """Walks over a pattern once, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._output: list[str] = []
        self._repeatable = False
        self._scopes = [_Scope(0)]
        self._groups = 0
        self._group_names: set[str] = set()

    def run(self) -> str:
        while self._at < len(self._pattern):
            self._step(self._pattern[self._at])
        if len(self._scopes) > 1:
            raise self._error("this group is never closed", self._scopes[-1].start)
        return "".join(self._output)

    def _step(self, character: str) -> None:
        if self._scopes[-1].comments and self._skip_comment(character):
            return
        if character in "*+?{":
            self._quantifier(character)
        elif character == "(":
            self._open_group()
        elif character == ")":
            self._close_group()
        elif character == "[":
            self._emit(self._character_class())
        elif character == "\\":
            self._escape()
        else:
            self._plain(character)

    def _emit(self, text: str, *, repeatable: bool = True) -> None:
        self._output.append(text)
        self._repeatable = repeatable

    def _error(self, reason: str, position: int | None = None) -> JavaRegexError:
        return JavaRegexError(self._pattern, self._at if position is None else position, reason)

    def _plain(self, character: str) -> None:
        self._at += 1
        if character == "|":
            self._emit("|", repeatable=False)
        elif character == ".":
            self._emit("(?s:.)" if self._scopes[-1].dot_matches_all else _ANY_BUT_LINE_END)
        elif character in "^$":
            self._emit(character)
        else:
            self._emit(literal(character))

    def _skip_comment(self, character: str) -> bool:
        if character == "#":
            end = self._pattern.find("\n", self._at)
            self._at = len(self._pattern) if end < 0 else end + 1
        elif character in " \t\n\x0b\f\r":
            self._at += 1
        else:
            return False
        return True

    def _quantifier(self, character: str) -> None:
        if not self._repeatable and character != "{":
            raise self._error(
                f"nothing to repeat before '{character}' (any text is '.*', a literal is '\\{character}')"
            )
        quantifier = self._counted() if character == "{" else character
        self._at += len(quantifier)
        if self._pattern[self._at : self._at + 1] in ("?", "+"):
            quantifier += self._pattern[self._at]
            self._at += 1
        # Java lets {2} repeat the empty text where nothing stands before it.
        self._emit(quantifier if self._repeatable else "", repeatable=False)

    def _counted(self) -> str:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            raise self._error("'{' begins a repetition such as {2} or {2,5}; a literal is '\\{'")
        if match[3] and int(match[3]) < int(match[1]):
            raise self._error("the repetition ends below where it begins")
        return match[0]

    def _open_group(self) -> None:
        start = self._at
        if not self._pattern.startswith("(?", start):
            self._capture("(")
        elif name := _GROUP_NAME.match(self._pattern, start):
            self._capture(name[0], name[1])
        elif plain := next((group for group in _PLAIN_GROUPS if self._pattern.startswith(group, start)), None):
            self._begin_scope(plain, plain, self._scopes[-1])
        elif flags := _FLAGS.match(self._pattern, start):
            self._flags(flags)
        else:
            raise self._error("no such kind of group")

    def _capture(self, opening: str, name: str | None = None) -> None:
        if name in self._group_names:
            raise self._error(f"a group named {name} exists already")
        if name:
            self._group_names.add(name)
        self._groups += 1
        self._begin_scope(opening, opening, self._scopes[-1])

    def _begin_scope(self, consumed: str, emitted: str, inherited: _Scope) -> None:
        self._scopes.append(replace(inherited, start=self._at))
        self._at += len(consumed)
        self._emit(emitted, repeatable=False)

    def _flags(self, match: re.Match[str]) -> None:
        on, off, ending = match[1], match[2] or "", match[3]
        scope = _with_flags(self._scopes[-1], on, off)
        kept = "".join(flag for flag in on if flag in "im")
        dropped = "".join(flag for flag in off if flag in "im")
        text = kept + ("-" + dropped if dropped else "")
        if ending == ":":
            self._begin_scope(match[0], f"(?{text}:", scope)
            return
        self._scopes[-1] = scope
        self._at += len(match[0])
        self._emit(f"(?{text})" if text else "", repeatable=False)

    def _close_group(self) -> None:
        if len(self._scopes) == 1:
            raise self._error("')' closes no group; a literal is '\\)'")
        self._scopes.pop()
        self._at += 1
        self._emit(")")

    def _escape(self) -> None:
        letter = self._escaped_letter()
        if letter == "Q":
            for character in self._quoted():
                self._emit(literal(character))
        elif letter == "k":
            self._named_reference()
        elif letter in "123456789":
            self._numbered_reference()
        elif letter in _ANCHORS:
            self._at += 2
            self._emit(_ANCHORS[letter])
        else:
            self._emit(self._escaped_class() or literal(self._escaped_character()))

    def _escaped_letter(self) -> str:
        if self._at + 1 >= len(self._pattern):
            raise self._error("a backslash at the end escapes nothing")
        return self._pattern[self._at + 1]

    def _quoted(self) -> str:
        start = self._at + 2
        end = self._pattern.find("\\E", start)
        self._at = len(self._pattern) if end < 0 else end + 2
        return self._pattern[start:] if end < 0 else self._pattern[start:end]

    def _named_reference(self) -> None:
        match = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>").match(self._pattern, self._at)
        if match is None or match[1] not in self._group_names:
            raise self._error("\\k needs the name of an earlier group: \\k<name>")
        self._at += len(match[0])
        self._emit(f"(?P={match[1]})")

    def _numbered_reference(self) -> None:
        """Java takes as many digits as still name a group; a group that does not exist never matches."""
        end = self._at + 2
        while self._pattern[end : end + 1].isdigit() and int(self._pattern[self._at + 1 : end + 1]) <= self._groups:
            end += 1
        number = int(self._pattern[self._at + 1 : end])
        self._at = end
        self._emit(f"(?:\\{number})" if number <= self._groups else "(?!)")

    def _escaped_class(self) -> str | None:
        """A class such as \\d or \\p{Alpha}, or None if the escape stands for one character."""
        letter = self._escaped_letter()
        if letter in PREDEFINED:
            self._at += 2
            return PREDEFINED[letter]
        if letter not in "pP":
            return None
        name = re.compile(r"\{([^}]*)\}|[^{]").match(self._pattern, self._at + 2)
        translated = property_class(name[1] or name[0], negated=letter == "P") if name else None
        if name is None or translated is None:
            raise self._error("no such character property")
        self._at = name.end()
        return translated

    def _escaped_character(self) -> str:
        letter = self._escaped_letter()
        start = self._at + 1
        if number := _CODE_POINT.match(self._pattern, start):
            return self._code_point(int(number[1] or number[2] or number[3], 16), number.end())
        if number := _OCTAL.match(self._pattern, start):
            return self._code_point(int(number[1], 8), number.end())
        if letter == "c" and start + 1 < len(self._pattern):
            return self._code_point(ord(self._pattern[start + 1]) ^ 64, start + 2)
        if letter in _CONTROL or not (letter.isascii() and letter.isalnum()):
            self._at += 2
            return _CONTROL.get(letter, letter)
        raise self._error(f"there is no escape \\{letter}")

    def _code_point(self, number: int, end: int) -> str:
        if number > _LAST_CODE_POINT:
            raise self._error("there is no such character")
        self._at = end
        return chr(number)

    def _character_class(self) -> str:
        start = self._at
        negated = self._pattern.startswith("[^", start)
        self._at += 2 if negated else 1
        items: list[str] = []
        while self._at < len(self._pattern):
            if self._pattern[self._at] == "]" and items:
                self._at += 1
                if items[-1] == "&&":
                    raise self._error("nothing follows '&&' in this class", start)
                return ("[^" if negated else "[") + "".join(items) + "]"
            items.extend(self._class_item(bool(items)))
        raise self._error("this class is never closed; a literal is '\\['", start)

    def _class_item(self, has_left_side: bool) -> list[str]:
        character = self._pattern[self._at]
        if self._scopes[-1].comments and self._skip_comment(character):
            return []
        if character == "[":
            return [self._character_class()]
        if self._pattern.startswith("&&", self._at):
            self._at += 2
            return ["&&"] if has_left_side else []
        if self._pattern.startswith("\\Q", self._at):
            return [literal(quoted) for quoted in self._quoted()]
        if character == "\\" and (escaped := self._escaped_class()):
            return [escaped]
        return [self._class_range()]

    def _class_range(self) -> str:
        start = self._at
        first = self._class_character()
        following = self._pattern[self._at + 1 : self._at + 2]
        if self._pattern[self._at : self._at + 1] != "-" or following in ("", "]", "["):
            return literal(first)
        self._at += 1
        last = self._class_character()
        if last < first:
            raise self._error("the range ends before it begins", start)
        return f"{literal(first)}-{literal(last)}"

    def _class_character(self) -> str:
        if self._pattern[self._at] == "\\":
            return self._escaped_character()
        self._at += 1
        return self._pattern[self._at - 1]


def _with_flags(scope: _Scope, on: str, off: str) -> _Scope:
    return replace(
        scope,
        dot_matches_all=("s" in on or scope.dot_matches_all) and "s" not in off,
        comments=("x" in on or scope.comments) and "x" not in off,
    )
