"""Checks the settings of one transform or predicate against the table of its options."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches

from heliograph.transforms.stage import StageOption

RESERVED = frozenset({"type", "predicate", "negate"})


def checked_settings(
    options: Sequence[StageOption], given: Mapping[str, str], reserved: Collection[str] = RESERVED
) -> dict[str, str]:
    """The settings without spaces around them, defaults filled in; ValueError tells all that is wrong with them.

    The reserved keys are for whoever builds the chain, and left out.
    """
    known = [option.key for option in options]
    settings = {key: text.strip() for key, text in given.items() if key not in reserved}
    unknown = [_unknown(key, known, reserved) for key in settings if key not in known]
    if problems := [*_problems(options, settings), *unknown]:
        raise ValueError("; ".join(problems))
    defaults = {option.key: option.default for option in options if option.default is not None}
    return {**defaults, **settings}


def _problems(options: Sequence[StageOption], settings: Mapping[str, str]) -> Iterator[str]:
    for option in options:
        text = settings.get(option.key)
        if text is None:
            if option.is_required:
                yield f"{option.key} is missing: {option.doc}"
        elif option.choices and text not in option.choices:
            yield f"{option.key} must be one of {', '.join(option.choices)}, not {text!r}"


def _unknown(key: str, known: Sequence[str], reserved: Collection[str]) -> str:
    close = get_close_matches(key, [*known, *reserved], n=1)
    possible = f"possible are {', '.join(known)}" if known else "it needs none"
    return f"there is no setting {key} here; {f'did you mean {close[0]}?' if close else possible}"
