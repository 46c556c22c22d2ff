"""Spans of time as commands take them: 30m, 1h, 2d."""

from __future__ import annotations

import re

import typer

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds_of(text: str) -> int:
    """How many seconds a text such as 30m means."""
    found = re.fullmatch(r"(\d+)([smhd])", text)
    if found is None:
        raise typer.BadParameter(f"{text} is no time such as 30m, 1h or 2d")
    return int(found[1]) * _UNITS[found[2]]
