"""The manual page, from the commands themselves: `python -m heliograph.cli.manual docs/man/heliograph.1` writes it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from heliograph import __version__

EXIT_CODES: Final = {
    0: "done",
    1: "something failed while running",
    2: "the configuration or the call is wrong",
    3: "could not start (Java, jars, brokers)",
    4: "source and target differ",
    5: "another mirror has taken over this flow",
}
_FILES: Final = {
    "mm2.properties": "clusters, flows and everything else, as MirrorMaker 2 reads it",
    "~/.cache/heliograph": "what is expensive to fetch or make; XDG_CACHE_HOME moves it",
}


def page() -> str:
    """The whole page in roff."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    from heliograph.cli.main import app

    root = get_command(app)
    assert isinstance(root, TyperGroup)
    yield f'.TH HELIOGRAPH 1 "" "heliograph {__version__}" "User Commands"'
    yield from (".SH NAME", r"heliograph \- mirrors Kafka clusters into each other, exactly once")
    yield from (".SH SYNOPSIS", r".B heliograph", r"[\fIoptions\fR] \fIcommand\fR [\fIarguments\fR]")
    yield from (".SH DESCRIPTION", _text(root.help or ""))
    yield ".SH COMMANDS"
    yield from _commands(root, typer.Context(root, info_name="heliograph"))
    yield from _table("EXIT STATUS", {str(code): meaning for code, meaning in EXIT_CODES.items()})
    yield from _table("FILES", _FILES)


def _commands(group: TyperGroup, context: typer.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from _commands(command, typer.Context(command, info_name=name, parent=context))
        elif isinstance(command, TyperCommand) and not command.hidden:
            yield from _command(command, typer.Context(command, info_name=name, parent=context))


def _command(command: TyperCommand, context: typer.Context) -> Iterator[str]:
    yield f".SS {escaped(' '.join([context.command_path, *_arguments(command, context)]))}"
    summary, _, examples = (command.help or "").partition("\b")
    yield _text(summary)
    for names, meaning in _options(command, context):
        yield from (".TP", rf"\fB{escaped(names)}\fR", _text(meaning))
    if examples.strip():
        lines = (escaped(line.strip()) for line in examples.strip().splitlines())
        yield from (".PP", ".nf", ".RS", *lines, ".RE", ".fi")


def _arguments(command: TyperCommand, context: typer.Context) -> Iterator[str]:
    for parameter in command.params:
        if isinstance(parameter, TyperArgument) and not parameter.hidden:
            yield from parameter.get_usage_pieces(context)


def _options(command: TyperCommand, context: typer.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        if isinstance(parameter, TyperOption) and (record := parameter.get_help_record(context)):
            yield record


def _table(title: str, rows: dict[str, str]) -> Iterator[str]:
    yield f".SH {escaped(title)}"
    for name, meaning in rows.items():
        yield from (".TP", rf"\fB{escaped(name)}\fR", _text(meaning))


def _text(text: str) -> str:
    """Paragraphs, each on a line of its own."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    return "\n.PP\n".join(map(escaped, paragraphs))


def escaped(text: str) -> str:
    """Text that roff takes for text: hyphens stay what they are, and no line is a request."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
