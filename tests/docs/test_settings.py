"""Every whole file that the documentation shows can be used as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.config.problem import Severity
from heliograph.errors import ConfigError
from tests.docs.pages import Block, blocks, pages

_WHOLE = ("clusters =", ".bootstrap.servers =", ".enabled =")
_FILES_OF_THE_READER = "/etc/heliograph/"
FILES = [
    block
    for page in pages()
    for block in blocks(page)
    if block.kind == "properties" and all(part in "\n".join(block.lines) for part in _WHOLE)
]


def complaints(text: str, folder: Path) -> list[str]:
    """Errors and warnings about a file, but for those about files that only its reader has."""
    file = folder / "mm2.properties"
    file.write_text(text, encoding="utf-8")
    try:
        problems = load(file, {}).problems
    except ConfigError as error:
        problems = error.problems
    found = [str(problem) for problem in problems if problem.severity is not Severity.NOTE]
    return [text for text in found if _FILES_OF_THE_READER not in text]


@pytest.mark.parametrize("block", FILES, ids=lambda block: f"{block.page}:{block.first}")
def test_a_file_is_without_a_mistake(block: Block, tmp_path: Path) -> None:
    assert complaints("\n".join(block.lines), tmp_path) == []


def test_files_are_found() -> None:
    assert {block.page for block in FILES} >= {"docs/quick-start.md", "docs/security.md", "docs/guides/migration.md"}


def test_a_mistake_is_noticed(tmp_path: Path) -> None:
    text = "\n".join(FILES[0].lines)
    assert complaints(f"{text}\ntopcis = orders", tmp_path)
    assert complaints(f"{text}\ntasks.max = many", tmp_path)
