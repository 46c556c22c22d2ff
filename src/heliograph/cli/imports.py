"""`heliograph config import`: connectors of Kafka Connect and resources of Strimzi as an mm2.properties file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.output import Data, Format, FormatOption, message_console, show
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.migration.importing import Import


def import_file(
    file: Annotated[
        Path, typer.Argument(help="Connectors as JSON, or a KafkaMirrorMaker2 as YAML; -: standard input.")
    ],
    write: Annotated[
        Path | None, typer.Option("--write", help="Write the file here, where none is yet, instead of showing it.")
    ] = None,
    secrets: Annotated[
        str | None, typer.Option("--secrets", help="The folder below which secrets of Kubernetes are mounted.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Turn MirrorMaker 2's connectors, or a resource of Strimzi, into an equal mm2.properties file.

    \b
    heliograph config import connectors.json
    heliograph config import mirror-maker-2.yaml --write mm2.properties
    """
    from heliograph.migration.importing import SECRETS, import_data

    found = import_data(_read(file), str(file), secrets or SECRETS)
    for note in found.notes if write or output is Format.TABLE else ():
        message_console().print(f"note: {note}", markup=False)
    if write is None:
        show(ImportResult(found), output)
    else:
        _write(write, found.text)


@dataclass(frozen=True)
class ImportResult:
    """The keys that say the same, and notes."""

    found: Import

    def data(self) -> Data:
        """The result as plain values."""
        return {"file": self.found.file, "properties": dict(self.found.entries), "notes": list(self.found.notes)}

    def view(self) -> RenderableType:
        """The file."""
        from rich.text import Text

        return Text(self.found.text.rstrip("\n"), no_wrap=True, overflow="ignore")


def _read(file: Path) -> bytes:
    """As much as may be imported, and one byte more of what is too large."""
    from heliograph.migration.document import LARGEST

    if str(file) == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST + 1)
    except OSError as error:
        raise _unusable(file, f"cannot be read: {error.strerror}", "check the path and its permissions") from None


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="latin-1") as opened:
            opened.write(text)
    except FileExistsError:
        raise _unusable(file, "exists already", "give the name of a file that does not") from None
    except OSError as error:
        raise _unusable(file, f"cannot be written: {error.strerror}", "check the path and its permissions") from None


def _unusable(file: Path, message: str, hint: str) -> ConfigError:
    from heliograph.config.problem import Problem, Severity

    return ConfigError([Problem(Severity.ERROR, message, hint, str(file))])
