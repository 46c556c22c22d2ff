from __future__ import annotations

import pytest

from heliograph.config.header_rule import HeaderRule, parse_header_rules


def test_rules_are_split_at_commas_unless_quoted() -> None:
    assert parse_header_rules('add Cache-Control: no-cache, "set X: a, b: c",SETDATE Expires: 31540000000') == (
        HeaderRule("Cache-Control", "no-cache", replaces=False, is_date=False),
        HeaderRule("X", "a, b: c", replaces=True, is_date=False),
        HeaderRule("Expires", "31540000000", replaces=True, is_date=True),
    )
    assert parse_header_rules("  ") == ()


@pytest.mark.parametrize(
    "text",
    ["X: y", "put X: y", "set X y", "set : y", "set X Y: z", "set X: y\nZ: a", "setDate X: soon", "set X: é", ","],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a list of|takes milliseconds"):
        parse_header_rules(text)
