"""`heliograph offsets`: what an offset of one cluster is on the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, one_flow
from heliograph.cli.output import Data, Format, FormatOption, show
from heliograph.errors import ClusterError
from heliograph.model import TopicPartition

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.config.flow import FlowConfig
    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.sync.translation import Offset, Translation, Translator

GroupOption = Annotated[
    list[str] | None, typer.Option("--group", help="Only this group; may be given again. Without: all that are synced.")
]
OffsetOption = Annotated[
    list[str] | None, typer.Option("--offset", help="Instead of groups, an offset as topic:partition:offset.")
]
ReverseOption = Annotated[bool, typer.Option("--reverse", help="From the flow's target back to its source.")]

app = typer.Typer(name="offsets", help="Translate offsets of consumers between clusters.", no_args_is_help=True)


@app.callback()
def offsets() -> None:
    """Translate offsets of consumers between clusters."""


@app.command()
def translate(
    file: FileArgument,
    flow: FlowOption = None,
    group: GroupOption = None,
    offset: OffsetOption = None,
    reverse: ReverseOption = False,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show where consumers would go on after a move; changes nothing.

    \b
    heliograph offsets translate mm2.properties --flow 'primary->backup'
    heliograph offsets translate mm2.properties --flow 'primary->backup' --group billing -o json
    heliograph offsets translate mm2.properties --flow 'primary->backup' --offset orders:0:1500
    heliograph offsets translate mm2.properties --flow 'primary->backup' --reverse --group billing
    """
    from heliograph.config.mirror_config import load

    config = load(file)
    chosen = one_flow(config, flow)
    wanted = {"": [_parsed_offset(text) for text in offset]} if offset else None
    show(_translated(config, chosen, reverse, wanted, group or ()), output_format)


def _parsed_offset(text: str) -> Offset:
    topic, _, rest = text.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise typer.BadParameter(f"{text} is not topic:partition:offset, such as orders:0:1500")
    return TopicPartition(topic, int(partition)), int(offset)


def _translated(
    config: MirrorConfig,
    flow: FlowConfig,
    reverse: bool,
    offsets: Mapping[str, Sequence[Offset]] | None,
    names: Sequence[str],
) -> TranslateResult:
    from heliograph.kafka.access import access_for
    from heliograph.kafka.admin import Admin
    from heliograph.sync.translation import Translator

    here, there = (flow.target, flow.source) if reverse else (flow.source, flow.target)
    opposite = config.flow(f"{flow.target.alias}->{flow.source.alias}")
    translator = Translator(opposite, flow) if reverse else Translator(flow, opposite)
    by_group = offsets if offsets is not None else _committed(flow, reverse, names)
    pairs = {pair for items in by_group.values() for pair in items}
    with Admin(access_for(here, "admin")) as source, Admin(access_for(there, "admin")) as target:
        translator.read(source, target, {where for where, _ in pairs})
        if not translator.has_run:
            raise ClusterError(f"{flow.name} has never run: {flow.target.alias} has no ledger of it")
        places = translator.translate(pairs, source, target)
        if offsets is not None:
            _check_all_translated(pairs, places, translator, here.alias, there.alias)
        elsewhere = translator.translate_elsewhere(pairs, target)
        ends = source.end_offsets({where for where, _ in places})
    rows = [
        Row(name, where, offset, place, max(0, ends[where] - offset))
        for name, items in sorted(by_group.items())
        for where, offset in sorted(items)
        if (where, offset) in places
        for place in (places[where, offset], *elsewhere.get((where, offset), ()))
    ]
    return TranslateResult(here.alias, there.alias, rows)


def _committed(flow: FlowConfig, reverse: bool, names: Sequence[str]) -> dict[str, list[Offset]]:
    from heliograph.kafka.access import access_for
    from heliograph.kafka.groups import Groups

    cluster = flow.target if reverse else flow.source
    with Groups(access_for(cluster, "admin")) as groups:
        listed = groups.list()
        if missing := [name for name in names if name not in listed]:
            raise ClusterError(f"{cluster.alias} has no consumer group {', '.join(missing)}")
        chosen = names or [name for name in listed if flow.group_filter.should_replicate_group(name)]
        committed = groups.committed(chosen)
    return {name: [(where, item.offset) for where, item in items.items()] for name, items in committed.items()}


def _check_all_translated(
    pairs: set[Offset],
    places: Mapping[Offset, Translation],
    translator: Translator,
    here: str,
    there: str,
) -> None:
    for where, offset in sorted(pairs):
        home = translator.target_of(where)
        if home is None:
            raise ClusterError(f"topic {where.topic} of {here} is not mirrored to {there}")
        if (where, offset) not in places:
            raise ClusterError(f"{there} has no partition {home}")


@dataclass(frozen=True)
class Row:
    """One offset of one group; no group for an offset that was asked for by itself."""

    group: str
    source: TopicPartition
    source_offset: int
    place: Translation
    lag: int


@dataclass(frozen=True)
class TranslateResult:
    """All translated offsets."""

    here: str
    there: str
    rows: Sequence[Row]

    def data(self) -> Data:
        """The result as plain values."""
        return [
            {
                "group": row.group or None,
                "from": self.here,
                "topic": row.source.topic,
                "partition": row.source.partition,
                "offset": row.source_offset,
                "to": self.there,
                "target_topic": row.place.target.topic,
                "target_offset": row.place.offset,
                "exact": row.place.is_exact,
                "lag": row.lag,
            }
            for row in self.rows
        ]

    def view(self) -> RenderableType:
        """One line an offset."""
        columns = ("group", "topic", "partition", f"on {self.here}", "target topic", f"on {self.there}", "exact", "lag")
        table = output.table(*columns)
        for cells in self._cells():
            output.add_row(table, *cells)
        return table

    def _cells(self) -> Iterator[Sequence[str]]:
        for row in self.rows:
            exact = "yes" if row.place.is_exact else "no: some may be read again"
            yield (
                row.group or "-", row.source.topic, str(row.source.partition), str(row.source_offset),
                row.place.target.topic, str(row.place.offset), exact, f"{row.lag:,}",
            )  # fmt: skip
