"""How a command's result reaches people (tables) and machines (JSON, YAML)."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from enum import Enum
from typing import Annotated, NoReturn, Protocol, TypeAlias

import typer
import yaml
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from heliograph.errors import ConfigError, HeliographError

Data: TypeAlias = "str | int | float | bool | list[Data] | dict[str, Data] | None"


class Format(Enum):
    """What `-o` accepts."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


FormatOption = Annotated[Format, typer.Option("--output", "-o", help="How to print the result.")]


class Result(Protocol):
    """What a command returns: the same facts for machines and for people."""

    def data(self) -> Data:
        """The result as plain JSON values."""

    def view(self) -> RenderableType:
        """The result as something that rich can draw."""


def console() -> Console:
    """Where results go. Never wraps lines when the output is not a terminal, so that grep works."""
    terminal = sys.stdout.isatty()
    return Console(soft_wrap=not terminal, highlight=False, width=None if terminal else 200)


def message_console() -> Console:
    """Where progress, warnings and errors go: not into the result."""
    return Console(stderr=True, soft_wrap=True, highlight=False)


def show(result: Result, output: Format) -> None:
    """Print a result in the asked format."""
    if output is Format.JSON:
        print(json.dumps(result.data(), indent=2, ensure_ascii=False))
    elif output is Format.YAML:
        print(yaml.safe_dump(result.data(), sort_keys=False, allow_unicode=True), end="")
    else:
        console().print(result.view())


def show_again(read: Callable[[], Result], output: Format, seconds: float) -> NoReturn:
    """Print a result again and again, until the user has seen enough."""
    while True:
        result = read()
        if output is Format.TABLE:
            console().clear()
        elif output is Format.YAML:
            print("---")
        show(result, output)
        sys.stdout.flush()
        time.sleep(seconds)


def table(*columns: str) -> Table:
    """A table without lines, as all commands draw them."""
    made = Table(box=None, pad_edge=False)
    for column in columns:
        made.add_column(column)
    return made


def add_row(table: Table, *cells: object) -> None:
    """A row of plain text: what it says is never taken for markup."""
    table.add_row(*(Text(str(cell)) for cell in cells))


def show_error(error: HeliographError) -> None:
    """Print an error for people: one line a problem, no traceback."""
    stderr = message_console()
    lines = [str(problem) for problem in error.problems] if isinstance(error, ConfigError) else [f"error: {error}"]
    for line in lines:
        stderr.print(line, markup=False)
