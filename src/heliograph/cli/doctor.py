"""`heliograph doctor`: is this machine, this file, this network fit to mirror?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.output import Data, Format, FormatOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from heliograph.config.secret import Secret
    from heliograph.diagnostics.observation import Observation

_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red", "unknown": "default"}


def doctor(
    file: Annotated[Path | None, typer.Argument(help="An mm2.properties file to look at too.")] = None,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Also write everything, without secrets, to this .tar.gz file.")
    ] = None,
    log: Annotated[list[Path] | None, typer.Option("--log", help="A log whose last lines go into the bundle.")] = None,
    rest: Annotated[
        str, typer.Option("--rest", help="Address of the running mirror; else as the file says.", show_default=False)
    ] = "",
    token_file: Annotated[
        Path | None, typer.Option("--token-file", help="A file with a token of the running mirror.")
    ] = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Look at this machine, and with a FILE also at that and at its clusters; changes nothing.

    Exit code: 0 nothing has failed, 1 something has, 3 the bundle or the token cannot be had.

    \b
    heliograph doctor
    heliograph doctor mm2.properties
    heliograph doctor mm2.properties --bundle help.tar.gz --log mirror.log
    """
    from heliograph.diagnostics.examination import examine
    from heliograph.diagnostics.observation import is_well
    from heliograph.diagnostics.support_bundle import Sources, support_bundle

    token = _token(token_file) if token_file else None
    examination = examine(file)
    output.show(DoctorResult(examination.observations), output_format)
    if bundle is not None:
        support_bundle(examination, Sources(log or (), rest, token)).write(bundle)
        output.message_console().print(f"wrote {bundle}; look into it before you send it", markup=False)
    raise typer.Exit(int(not is_well(examination.observations)))


def _token(file: Path) -> Secret:
    from heliograph.config.secret import Secret
    from heliograph.errors import StartError

    try:
        return Secret(file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        raise StartError(f"cannot read the token in {file}") from None


@dataclass(frozen=True)
class DoctorResult:
    """What was seen."""

    observations: Sequence[Observation]

    def data(self) -> Data:
        """The result as plain values."""
        from heliograph.diagnostics.observation import is_well
        from heliograph.diagnostics.support_bundle import observation_data

        return {
            "ok": is_well(self.observations),
            "observations": [{**observation_data(observation)} for observation in self.observations],
        }

    def view(self) -> RenderableType:
        """One line each; what to do stands below."""
        from rich.console import Group
        from rich.text import Text

        table = output.table("what", "verdict", "seen")
        for item in self.observations:
            verdict = item.verdict.value
            table.add_row(Text(item.subject), Text(verdict, style=_COLOURS[verdict]), Text(item.seen))
        advised = [item for item in self.observations if item.advice and item.verdict.value in ("warning", "failed")]
        return Group(table, *(Text(f"{item.subject}: {item.advice}") for item in advised))
