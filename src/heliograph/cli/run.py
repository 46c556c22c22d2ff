"""`heliograph run`: mirrors until it is told to stop."""

from __future__ import annotations

from typing import Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import ClustersOption, FileArgument, MoreClusters


def run(
    file: FileArgument,
    more: MoreClusters = None,
    clusters: ClustersOption = None,
    json_log: Annotated[bool, typer.Option("--json-log", help="Write log lines as JSON.")] = False,
) -> None:
    """Run all flows of a file, until SIGTERM or Ctrl-C; then commit what is under way and end with code 0.

    \b
    heliograph run mm2.properties
    heliograph run mm2.properties --clusters dr
    """
    from heliograph.cli.logs import configure_logs
    from heliograph.config.mirror_config import load
    from heliograph.config.problem import Severity
    from heliograph.control.assembly import assemble
    from heliograph.control.lifecycle import run_until_signalled

    if more and not clusters:
        raise typer.BadParameter(f"only one file can be run at a time, not also {more[0]}")
    configure_logs(json_log)
    config = load(file, clusters=[*clusters, *(more or ())] if clusters else None)
    for problem in config.problems:
        if problem.severity is Severity.WARNING:
            output.message_console().print(str(problem), markup=False)
    run_until_signalled(assemble(config))
