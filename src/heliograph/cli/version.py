"""`heliograph version`: which versions work together here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.cli import output
from heliograph.cli.output import Data, Format, FormatOption

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.diagnostics.versions import Versions


def version(output_format: FormatOption = Format.TABLE) -> None:
    """Show the versions of everything that takes part: Python, PySpark, Java, the Kafka clients, the system.

    \b
    heliograph version
    heliograph version -o json
    """
    from heliograph.diagnostics.versions import Versions

    output.show(VersionResult(Versions.read()), output_format)


@dataclass(frozen=True)
class VersionResult:
    """All versions."""

    versions: Versions

    def data(self) -> Data:
        """The result as plain values."""
        return {**self.versions.by_name()}

    def view(self) -> RenderableType:
        """One line each."""
        table = output.table("part", "version")
        for name, text in self.versions.by_name().items():
            output.add_row(table, name, text)
        return table
