"""`kafka-mirror-maker`: MirrorMaker 1's command line, on the same engine as `heliograph run`."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from heliograph.cli import output
from heliograph.cli.run import mirror_until_signalled, supervise

if TYPE_CHECKING:
    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.migration.mirror_maker_1 import Call

_IN_PLACE_OF_HANDLER: Final = (
    "--message.handler names a Java class, which cannot run here: say it with transforms, predicates or a Python class "
    "in an mm2.properties file (docs/transforms.md) and use `heliograph run`"
)
_IN_PLACE_OF_LISTENER: Final = (
    "--rebalance.listener names a Java class, which cannot run here, and there are no rebalances: lanes are planned "
    "(docs/architecture.md). Leave it out"
)


class YesOrNo(Enum):
    """How MirrorMaker 1 is told so."""

    TRUE = "true"
    FALSE = "false"


def kafka_mirror_maker(
    consumer_config: Annotated[Path, typer.Option("--consumer.config", help="Properties of the source's consumer.")],
    producer_config: Annotated[Path, typer.Option("--producer.config", help="Properties of the target's producer.")],
    include: Annotated[
        str | None, typer.Option("--whitelist", "--include", help="Topics: regular expressions, with commas between.")
    ] = None,
    streams: Annotated[int, typer.Option("--num.streams", min=1, help="Number of lanes.")] = 1,
    commit_interval: Annotated[
        int, typer.Option("--offset.commit.interval.ms", min=1, help="Between two commits for the group on the source.")
    ] = 60_000,
    abort: Annotated[
        YesOrNo, typer.Option("--abort.on.send.failure", help="Accepted: nothing is ever dropped.")
    ] = YesOrNo.TRUE,
    new_consumer: Annotated[bool, typer.Option("--new.consumer", help="Accepted: there is no other.")] = False,
    handler: Annotated[str | None, typer.Option("--message.handler", help="Refused: see docs/commands.md.")] = None,
    handler_arguments: Annotated[str | None, typer.Option("--message.handler.args", hidden=True)] = None,
    listener: Annotated[str | None, typer.Option("--rebalance.listener", help="Refused: see docs/commands.md.")] = None,
    listener_arguments: Annotated[str | None, typer.Option("--rebalance.listener.args", hidden=True)] = None,
    json_log: Annotated[bool, typer.Option("--json-log", help="Write log lines as JSON.")] = False,
    rest: Annotated[bool, typer.Option("--rest", help="Serve REST, metrics and the web page.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Do not start again after a crash.")] = False,
) -> None:
    """MirrorMaker 1's command: the same topic names on both sides, begun where its group stood.

    \b
    kafka-mirror-maker --consumer.config c.properties --producer.config p.properties --whitelist 'orders.*,events.*'
    """
    from heliograph.cli.logs import configure_logs
    from heliograph.config import properties
    from heliograph.config.environment import with_variables
    from heliograph.config.mirror_config import load_properties
    from heliograph.migration.mirror_maker_1 import Call, as_flow

    refusals = [
        *([_IN_PLACE_OF_HANDLER] if handler or handler_arguments else []),
        *([_IN_PLACE_OF_LISTENER] if listener or listener_arguments else []),
        *([] if include and include.strip() else ["--whitelist or --include is missing: which topics?"]),
    ]
    if refusals or include is None:
        raise typer.BadParameter("\n".join(refusals))
    configure_logs(json_log)

    chosen = include

    def call() -> Call:
        consumer, producer = properties.read(consumer_config), properties.read(producer_config)
        return Call(consumer, producer, chosen, streams, commit_interval)

    def read() -> MirrorConfig:
        return load_properties(with_variables(as_flow(call()), os.environ), os.environ)

    if once:
        mirror_until_signalled(read(), rest)
    else:
        _explain(call())
        supervise(read, rest)


def _explain(call: Call) -> None:
    from heliograph.migration.mirror_maker_1 import differences

    for line in differences(call):
        output.message_console().print(line, markup=False)
