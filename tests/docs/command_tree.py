"""The commands of heliograph as the command line knows them: parses calls without running them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import typer.main

from heliograph.cli.main import app

_OPTIONS_OF_ALL = {"--help"}
_ENTRY_POINTS = {"heliograph": [], "connect-mirror-maker": ["run"], "kafka-mirror-maker": ["kafka-mirror-maker"]}


def is_ours(program: str) -> bool:
    """Whether a program is one of the entry points."""
    return program in _ENTRY_POINTS


def parse(words: Sequence[str]) -> None:
    """Raise typer's exception, or ValueError, if a call is not one that the program would take."""
    name, command, rest = _found([*_ENTRY_POINTS[words[0]], *words[1:]])
    if _is_group(command):
        _expect_options(command, rest)
    else:
        command.make_context(name, rest)


def check_names(words: Sequence[str]) -> None:
    """Raise ValueError if a call has a command or an option that is not there; arguments may be placeholders."""
    _, command, rest = _found([*_ENTRY_POINTS[words[0]], *words[1:]])
    if not _is_group(command) and not command.context_settings.get("ignore_unknown_options"):
        _expect_options(command, [word for word in rest if word.startswith("-") and word[1:2].strip("0123456789")])


def _found(words: list[str]) -> tuple[str, Any, list[str]]:
    """The command that the words lead to, its name, and what is left of the words."""
    command = _root()
    name, rest = "heliograph", words
    while _is_group(command) and rest and not rest[0].startswith("-"):
        name, *rest = rest
        if name not in command.commands:
            raise ValueError(f"there is no command {name}")
        command = command.commands[name]
    return name, command, rest


@cache
def _root() -> Any:
    return typer.main.get_command(app)


def _is_group(command: Any) -> bool:
    return hasattr(command, "commands")


def _expect_options(command: Any, words: Sequence[str]) -> None:
    known = {name for parameter in command.params for name in parameter.opts} | _OPTIONS_OF_ALL
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"there is no option {', '.join(unknown)}")
