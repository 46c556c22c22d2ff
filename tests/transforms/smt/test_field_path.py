"""Paths to fields, in both of Kafka's syntaxes; what they find is compared in the tests of ExtractField."""

from __future__ import annotations

import pytest

from heliograph.transforms.smt.field_path import FieldPath

# The cases of KIP-821 and of Kafka's own tests of them.
DOTTED = [
    ("foo", ("foo",)),
    ("foo.bar", ("foo", "bar")),
    ("foo.bar.baz", ("foo", "bar", "baz")),
    ("`foo.bar`", ("foo.bar",)),
    ("`foo.bar`.baz", ("foo.bar", "baz")),
    ("foo.`bar.baz`", ("foo", "bar.baz")),
    ("`foo.bar`.`baz.qux`", ("foo.bar", "baz.qux")),
    ("foo`bar", ("foo`bar",)),
    ("foo.b`ar", ("foo", "b`ar")),
    ("`foo`bar`", ("foo`bar",)),
    ("`foo`bar`.baz", ("foo`bar", "baz")),
    ("`foo\\`.bar`.baz", ("foo`.bar", "baz")),
    ("`foo\\`bar`", ("foo\\`bar",)),
    ("`a\\`.b\\`.c`", ("a`.b`.c",)),
    ("foo.", ("foo", "")),
    ("`foo`.", ("foo", "")),
    (".foo", ("", "foo")),
    ("..", ("", "", "")),
    ("``", ("",)),
    ("``.a", ("", "a")),
]


@pytest.mark.parametrize(("text", "steps"), DOTTED)
def test_dots_part_names_in_the_second_syntax(text: str, steps: tuple[str, ...]) -> None:
    assert FieldPath.parse(text, "V2").steps == steps
    assert FieldPath.parse(text, "v2").steps == steps


@pytest.mark.parametrize("text", [text for text, _ in DOTTED])
def test_a_name_is_a_name_in_the_first_syntax(text: str) -> None:
    assert FieldPath.parse(text, "V1").steps == (text,)


@pytest.mark.parametrize("text", ["`foo", "foo.`bar", "`foo\\`", "`", "`foo\\`.bar", "`foo`bar", ""])
def test_an_open_quote_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"backtick|no field"):
        FieldPath.parse(text, "V2")


def test_a_refusal_names_the_setting() -> None:
    with pytest.raises(ValueError, match=r"^field: .*character 3"):
        FieldPath.of({"field": "a.`b", "field.syntax.version": "V2"}, "field")
