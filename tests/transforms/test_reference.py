"""The reference of transforms and predicates, and its copy in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.transforms import reference
from heliograph.transforms.catalogue import make_predicate, make_transform
from heliograph.transforms.reference import COMMAND, PREDICATE, Entry, entries, markdown, renewed

PAGE = Path(__file__).parents[2] / reference.PAGE


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: str(entry.name))
def test_every_name_that_is_told_can_be_used(entry: Entry) -> None:
    make = make_predicate if entry.kind == PREDICATE else make_transform
    for name in (*entry.class_names, *(name.removeprefix(entry.package) for name in entry.class_names)):
        assert type(make(name)).__name__ == entry.name
    assert entry.doc.endswith(".")
    assert all(option.doc.endswith(".") for option in entry.options)


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert markdown() in page, f"run: {COMMAND}"
    assert renewed(page) == page
