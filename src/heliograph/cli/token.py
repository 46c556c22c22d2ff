"""`heliograph token`: makes callers of the REST server."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.output import Data, Format, FormatOption, show

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHORTEST_PASSWORD = 8


class CallerRole(Enum):
    """What a caller may do; each may do what those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


def token(
    name: Annotated[str, typer.Argument(help="What the caller is called, in the audit for example.")],
    role: Annotated[
        CallerRole, typer.Option("--role", help="viewer looks; operator also pauses and resumes; admin changes all.")
    ],
    password: Annotated[
        bool, typer.Option("--password", help="Ask for a password (or read it from a pipe) instead of making a token.")
    ] = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Make a token, or hash a password, and print the line for the file. The token is shown only this once.

    \b
    heliograph token grafana --role viewer
    heliograph token alice --role operator --password
    """
    from heliograph.config.credential_hash import PasswordHash, TokenHash, new_token
    from heliograph.config.rest_access import check_name

    try:
        check_name(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if password:
        line = f"rest.user.{name} = {role.value}:{PasswordHash.of(_asked_password())}"
        show(NewCaller(name, role.value, "", line), output_format)
        return
    secret = new_token()
    line = f"rest.token.{name} = {role.value}:{TokenHash.of(secret)}"
    show(NewCaller(name, role.value, secret, line), output_format)


def _asked_password() -> str:
    """The password, typed twice or read from a pipe: never an argument, which everyone on the machine can see."""
    if sys.stdin.isatty():
        text: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    if len(text) < _SHORTEST_PASSWORD:
        raise typer.BadParameter(f"a password has {_SHORTEST_PASSWORD} characters or more")
    return text


@dataclass(frozen=True)
class NewCaller:
    """A caller that can be added to a file."""

    name: str
    role: str
    token: str
    line: str

    def data(self) -> Data:
        """The result as plain values."""
        shown: dict[str, Data] = {"name": self.name, "role": self.role, "line": self.line}
        return {**shown, "token": self.token} if self.token else shown

    def view(self) -> RenderableType:
        """What to keep, what to write, and how to use it; lines are not broken, so that they can be copied."""
        from rich.text import Text

        lines = ["Add this line to the file, and restart:", "", self.line]
        if self.token:
            lines = [
                "The token, shown only this once:", "", self.token, "", *lines, "",
                "It is used so:", "", f'curl -H "Authorization: Bearer {self.token}" http://127.0.0.1:8083/connectors',
            ]  # fmt: skip
        return Text("\n".join(lines), no_wrap=True, overflow="ignore")
