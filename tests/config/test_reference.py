from __future__ import annotations

from pathlib import Path

from heliograph.config import options, reference

PAGE = Path(__file__).parents[2] / reference.PAGE


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference.markdown(), f"run: {reference.COMMAND}"


def test_the_page_names_every_key() -> None:
    page = reference.markdown()
    assert [option.name for option in options.OPTIONS if f"| `{option.name}` |" not in page] == []
    assert [family.prefix for family in options.FAMILIES if f"`{family.prefix}*`" not in page] == []


def test_where_defaults_differ_the_page_gives_both() -> None:
    assert "| `refresh.topics.interval.seconds` | long | `30` (MirrorMaker 2: `600`) |" in reference.markdown()
