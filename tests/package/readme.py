"""The commands that the README shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.package.distributions import ROOT

_BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# .*$")
_SCREEN = "╭"  # a block that begins so shows what a command prints


def command_lines(text: str) -> list[str]:
    """All lines of the blocks of commands, in their order, without their comments."""
    return [line for block in _BLOCK.findall(text) if not block.startswith(_SCREEN) for line in _lines(block)]


def readme_lines() -> list[str]:
    """The command lines of our README."""
    return command_lines((ROOT / "README.md").read_text())


def install_lines() -> list[str]:
    """Those that make an environment and install the package there."""
    return [line for line in readme_lines() if not line.startswith(("./", "curl "))]


def _lines(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if command := _COMMENT.sub("", line).strip():
            yield command
