"""The `heliograph` command: gathers the commands and turns errors into messages and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import typer
from typer.main import get_command

from heliograph import __version__
from heliograph.cli import config, offsets, output, transform
from heliograph.cli.bench import bench
from heliograph.cli.check import check
from heliograph.cli.conflicts import conflicts
from heliograph.cli.demo import demo
from heliograph.cli.doctor import doctor
from heliograph.cli.drill import drill
from heliograph.cli.mirror_maker import kafka_mirror_maker
from heliograph.cli.monitor import monitor
from heliograph.cli.operations import failback, failover, switchover
from heliograph.cli.package import package
from heliograph.cli.plan import plan
from heliograph.cli.run import run
from heliograph.cli.status import lag, status
from heliograph.cli.token import token
from heliograph.cli.verify import verify
from heliograph.cli.version import version
from heliograph.errors import HeliographError

app = typer.Typer(
    name="heliograph",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})(bench)
app.command()(demo)
app.command()(run)
app.command()(status)
app.command()(lag)
app.command()(plan)
app.command()(check)
app.command()(verify)
app.command()(monitor)
app.command()(conflicts)
app.command()(switchover)
app.command()(failover)
app.command()(failback)
app.command()(drill)
app.command()(token)
app.command(name="kafka-mirror-maker")(kafka_mirror_maker)
app.command()(package)
app.command()(doctor)
app.command()(version)
app.add_typer(transform.app)
app.add_typer(offsets.app)
app.add_typer(config.app)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        output.console().print(f"heliograph {__version__}", highlight=False)
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
]


@app.callback()
def heliograph(is_version_wanted: VersionOption = False) -> None:
    """Mirrors Kafka clusters into each other, exactly once, from MirrorMaker 2's own mm2.properties."""


@cache
def _command() -> Callable[..., object]:
    """Looking at every command's parameters takes long, for whoever runs many in one process."""
    return get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code."""
    try:
        _command()(args=arguments, prog_name="heliograph")
    except HeliographError as error:
        output.show_error(error)
        sys.exit(error.exit_code)


def connect_mirror_maker() -> None:
    """MirrorMaker 2's own command: the same as `heliograph run`."""
    main(["run", *sys.argv[1:]])


def mirror_maker_1() -> None:
    """MirrorMaker 1's command, under its old name."""
    main(["kafka-mirror-maker", *sys.argv[1:]])
