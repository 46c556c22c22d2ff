"""Spans of time on the command line."""

from __future__ import annotations

import pytest
import typer

from heliograph.cli.since import seconds_of


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1_800), ("1h", 3_600), ("2d", 172_800), ("0s", 0)])
def test_spans_are_numbers_with_a_unit(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1.5h", "-1h", "1 h", "1w", "1h30m", "yesterday"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no time such as 30m, 1h or 2d"):
        seconds_of(text)
