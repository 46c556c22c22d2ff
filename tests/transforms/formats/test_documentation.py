"""The examples of the page about formats can be used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heliograph.transforms.formats.choice import RecordFormats

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
EXAMPLES = re.findall(r"```properties\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
CLASSES = re.findall(r"`((?:org\.apache|io\.confluent)\.[\w.]+Converter)`", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_accepted(example: str) -> None:
    lines = [line.partition(" = ") for line in example.splitlines()]
    settings = {key.removeprefix("primary->backup."): value for key, _, value in lines}
    assert all(key.startswith(("key.", "value.", "schema.registry.", "target.schema.registry.")) for key in settings)
    for is_key in (True, False):
        RecordFormats(settings, is_key)


@pytest.mark.parametrize("name", CLASSES)
def test_all_classes_in_the_table_exist(name: str) -> None:
    settings = {"value.converter": name, "schema.registry.url": "http://127.0.0.1:1"}
    RecordFormats(settings, is_key=False)
    assert len(CLASSES) == 7
