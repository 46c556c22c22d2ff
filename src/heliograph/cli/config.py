"""`heliograph config`: check, explain, look up and import configurations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.imports import import_file
from heliograph.cli.output import Data, Format, FormatOption, show
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from heliograph.config.explanation import Group
    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.config.option import Option
    from heliograph.config.problem import Problem
    from heliograph.config.setting import Setting

app = typer.Typer(name="config", help="Check, explain, look up and import mm2.properties.", no_args_is_help=True)

FileArgument = Annotated[
    Path,
    typer.Argument(
        help="An mm2.properties file; none, or -: HELIOGRAPH_ variables say everything.",
        default_factory=lambda: Path("-"),
        show_default=False,
    ),
]
ClustersOption = Annotated[
    list[str] | None, typer.Option("--clusters", help="Keep only flows to these clusters: --clusters B C.")
]
MoreClusters = Annotated[list[str] | None, typer.Argument(metavar="CLUSTER", hidden=True)]


@app.command()
def check(
    file: FileArgument,
    more: MoreClusters = None,
    clusters: ClustersOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Find every mistake in a file; exit with 2 if there is one.

    \b
    heliograph config check mm2.properties
    heliograph config check mm2.properties --clusters dr -o json
    """
    from heliograph.config.mirror_config import load

    if more and not clusters:
        raise typer.BadParameter(f"only one file can be checked at a time, not also {more[0]}")
    try:
        config = load(file, clusters=[*clusters, *(more or ())] if clusters else None)
    except ConfigError as error:
        if output is Format.TABLE:
            raise
        show(CheckResult(str(file), (), error.problems), output)
        raise typer.Exit(error.exit_code) from None
    show(CheckResult.of(config), output)


@app.command()
def explain(
    file: FileArgument,
    flow: FlowOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show every effective value and the line or variable it came from; secrets stay hidden.

    \b
    heliograph config explain mm2.properties
    heliograph config explain mm2.properties --flow 'primary->dr'
    """
    from heliograph.config import explanation
    from heliograph.config.mirror_config import load

    config = load(file)
    if flow is None:
        show(ExplainResult(config.file, explanation.explain(config)), output)
        return
    (found,) = chosen_flows(config, flow)
    show(ExplainResult(config.file, explanation.explain_flow(found)), output)


@app.command()
def reference(
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Only keys of this part, such as source (repeatable).")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """List every key: type, default, MirrorMaker 2's default, meaning.

    \b
    heliograph config reference
    heliograph config reference --scope source --scope checkpoint -o yaml
    """
    from heliograph.config import options
    from heliograph.config.option import Scope

    known = [item.value for item in Scope]
    unknown = [name for name in scope or () if name not in known]
    if unknown:
        raise typer.BadParameter(f"there is no scope {unknown[0]}; scopes are {', '.join(known)}")
    wanted = tuple(Scope(name) for name in scope) if scope else tuple(Scope)
    show(ReferenceResult(tuple(option for option in options.OPTIONS if option.scope in wanted)), output)


app.command(name="import")(import_file)


@dataclass(frozen=True)
class CheckResult:
    """What there is to say about a file."""

    file: str
    flows: tuple[tuple[str, bool], ...]
    problems: tuple[Problem, ...]

    @classmethod
    def of(cls, config: MirrorConfig) -> CheckResult:
        """The result for a file that can be used."""
        return cls(config.file, tuple((flow.name, flow.enabled) for flow in config.flows), config.problems)

    def data(self) -> Data:
        """The result as plain values."""
        return {
            "file": self.file,
            "ok": not self._count("error"),
            "flows": [{"name": name, "heartbeats_only": not enabled} for name, enabled in self.flows],
            "problems": [_problem_data(problem) for problem in self.problems],
        }

    def view(self) -> RenderableType:
        """One line for the file, one for each flow, one for each problem."""
        from rich.console import Group as Lines
        from rich.text import Text

        counts = ", ".join(f"{self._count(kind)} {kind}s" for kind in ("warning", "note"))
        flows = (f"  flow {name}{'' if enabled else ' (heartbeats only)'}" for name, enabled in self.flows)
        lines = [f"{self.file}: ok, {counts}", *flows, *(str(problem) for problem in self.problems)]
        return Lines(*(Text(line) for line in lines))

    def _count(self, severity: str) -> int:
        return sum(problem.severity.value == severity for problem in self.problems)


@dataclass(frozen=True)
class ExplainResult:
    """The effective values of a file, in groups."""

    file: str
    groups: tuple[Group, ...]

    def data(self) -> Data:
        """The result as plain values."""
        return {
            "file": self.file,
            "groups": [
                {"title": group.title, "settings": [_setting_data(setting) for setting in group.settings]}
                for group in self.groups
            ],
        }

    def view(self) -> RenderableType:
        """One table for each group."""
        from rich.console import Group as Tables

        return Tables(*(_settings_table(group) for group in self.groups if group.settings))


@dataclass(frozen=True)
class ReferenceResult:
    """Options of the table."""

    options: tuple[Option, ...]

    def data(self) -> Data:
        """The result as plain values."""
        return [_option_data(option) for option in self.options]

    def view(self) -> RenderableType:
        """One table of all options."""
        rows = (
            (option.name, option.scope.value, option.kind.value, _default_text(option), _doc(option))
            for option in self.options
        )
        return _table("", ("key", "scope", "type", "default", "meaning"), rows)


def _problem_data(problem: Problem) -> Data:
    return {
        "severity": problem.severity.value,
        "file": problem.file,
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "hint": problem.hint,
    }


def _setting_data(setting: Setting) -> Data:
    origin = setting.origin
    return {
        "name": setting.name,
        "value": setting.text,
        "origin": {
            "kind": origin.kind.value,
            "line": origin.line,
            "key": origin.key,
            **({"variable": origin.variable} if origin.variable else {}),
        },
    }


def _settings_table(group: Group) -> RenderableType:
    rows = ((setting.name, setting.text, _origin_text(setting)) for setting in group.settings)
    return _table(group.title, ("key", "value", "from"), rows)


def _origin_text(setting: Setting) -> str:
    origin = setting.origin
    if origin.variable:
        return f"{origin.variable}: {origin.key}"
    return f"line {origin.line}: {origin.key}" if origin.line else origin.kind.value


def _option_data(option: Option) -> Data:
    from heliograph.config.setting import value_text

    return {
        "name": option.name,
        "scope": option.scope.value,
        "type": option.kind.value,
        "default": None if option.default is None else value_text(option.default),
        "mm2_default": option.mm2_default or None,
        "choices": list(option.choices),
        "minimum": option.minimum,
        "maximum": option.maximum,
        "required": option.required,
        "secret": option.secret,
        "since": option.since or None,
        "removed": option.removed or None,
        "replaced_by": option.replaced_by or None,
        "effect": option.effect.value,
        "doc": option.doc,
        "note": option.note or None,
    }


def _default_text(option: Option) -> str:
    from heliograph.config.setting import value_text

    text = "required" if option.required else value_text(option.default)
    return f"{text} (MM2: {option.mm2_default})" if option.mm2_default else text


def _doc(option: Option) -> str:
    return f"{option.doc} [{option.effect.value}: {option.note}]" if option.note else option.doc


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
