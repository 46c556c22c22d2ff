"""The completion scripts that are shipped: `python -m heliograph.cli.completion FOLDER` writes them anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from typer.completion import get_completion_script  # type: ignore[attr-defined]  # typer's own name for it

SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAM = "heliograph"


def script(shell: str) -> str:
    """What a shell sources to complete our commands, options and their values."""
    text = get_completion_script(prog_name=_PROGRAM, complete_var="_HELIOGRAPH_COMPLETE", shell=shell)
    return f"{text.strip()}\n"


def write(folder: Path) -> None:
    """Write a script for each shell."""
    for shell in SHELLS:
        (folder / f"{_PROGRAM}.{shell}").write_text(script(shell), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
