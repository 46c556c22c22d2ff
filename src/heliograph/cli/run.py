"""`heliograph run`: mirrors until it is told to stop."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import ClustersOption, FileArgument, MoreClusters

if TYPE_CHECKING:
    from collections.abc import Callable

    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.control.rest.server import RestServer
    from heliograph.control.running_mirror import RunningMirror


def run(
    file: FileArgument,
    more: MoreClusters = None,
    clusters: ClustersOption = None,
    json_log: Annotated[bool, typer.Option("--json-log", help="Write log lines as JSON.")] = False,
    rest: Annotated[
        bool,
        typer.Option("--rest", help="Serve REST, metrics and the web page, at `listeners` or http://127.0.0.1:8083."),
    ] = False,
    master: Annotated[
        str, typer.Option("--master", help="Spark to run on: local[*], spark://host:7077, yarn, k8s://…", metavar="URL")
    ] = "",
    once: Annotated[
        bool, typer.Option("--once", help="Do not start again after a crash: something else takes care of that.")
    ] = False,
) -> None:
    """Run all flows of a file, until SIGTERM or Ctrl-C; then commit what is under way and end with code 0.

    \b
    heliograph run mm2.properties
    heliograph run mm2.properties --clusters dr
    heliograph run mm2.properties --rest
    heliograph run mm2.properties --master spark://spark-master:7077
    """
    from heliograph.cli.logs import configure_logs
    from heliograph.config.mirror_config import load
    from heliograph.config.variable_name import variable_for
    from heliograph.engine.submission import is_submitted

    if more and not clusters:
        raise typer.BadParameter(f"only one file can be run at a time, not also {more[0]}")
    configure_logs(json_log)
    if master:
        os.environ[variable_for("spark.master")] = master  # for the process that is started below too
    targets = [*clusters, *(more or ())] if clusters else None
    read = partial(load, file, clusters=targets)
    if is_submitted():
        config = read()
        _show_warnings(config)
        mirror_until_signalled(config, rest)
    elif once:
        mirror_until_signalled(read(), rest)
    else:
        supervise(read, rest)


def supervise(read: Callable[[], MirrorConfig], rest: bool) -> None:
    """Keep a process alive that mirrors what the configuration says when it starts, and end as it ends."""
    from heliograph.control.supervisor import Supervisor

    supervisor = Supervisor()
    from heliograph.control import lifecycle  # noqa: F401 - loaded before the fork, once for all

    _show_warnings(read())
    code = supervisor.run()
    if code is not None:
        raise typer.Exit(code)
    mirror_until_signalled(read(), rest)


def mirror_until_signalled(config: MirrorConfig, rest: bool) -> None:
    """Mirror in this process."""
    from heliograph.control.lifecycle import run_until_signalled
    from heliograph.control.running_mirror import RunningMirror
    from heliograph.control.supervisor import watch_lifeline

    mirror = RunningMirror(config)
    run_until_signalled(mirror, _server(mirror, rest), watch_lifeline())


def _server(mirror: RunningMirror, is_asked_for: bool) -> RestServer | None:
    from heliograph.config.rest_check import is_rest_wanted

    if not (is_asked_for or is_rest_wanted(mirror.config.settings)):
        return None
    from heliograph.control.rest.server import RestServer

    return RestServer(mirror)


def _show_warnings(config: MirrorConfig) -> None:
    from heliograph.config.problem import Severity

    for problem in config.problems:
        if problem.severity is Severity.WARNING:
            output.message_console().print(str(problem), markup=False)
