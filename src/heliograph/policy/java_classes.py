"""Java's named character classes, ASCII unless Unicode is asked for, as the `regex` library has them."""

from __future__ import annotations

import regex

_BODIES = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": r"\ \t\n\x0b\f\r",
    "h": r"\ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
}
PREDEFINED = {name: f"[{body}]" for name, body in _BODIES.items()} | {
    name.upper(): f"[^{body}]" for name, body in _BODIES.items()
}
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "Graph": r"\x21-\x7e",
    "Print": r"\x20-\x7e",
    "Blank": r"\ \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": _BODIES["s"],
}
_METHODS = {
    "javaLowerCase": "Lowercase",
    "javaUpperCase": "Uppercase",
    "javaAlphabetic": "Alphabetic",
    "javaLetter": "L",
    "javaDigit": "Nd",
    "javaWhitespace": "White_Space",
}


def literal(character: str) -> str:
    """A character that stands for itself, inside brackets and outside of them."""
    return character if character.isalnum() or character == "_" else "\\" + character


def property_class(name: str, *, negated: bool) -> str | None:
    """The class that Java calls \\p{name}, or \\P{name} if negated; None if there is none."""
    if name in _POSIX:
        return f"[{'^' if negated else ''}{_POSIX[name]}]"
    translated = f"\\{'P' if negated else 'p'}{{{_METHODS.get(name, name)}}}"
    try:
        regex.compile(translated, regex.V1)
    except regex.error:
        return None
    return translated
