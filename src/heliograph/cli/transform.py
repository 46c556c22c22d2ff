"""`heliograph transform`: try out what a flow does with records, and look up what it could do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, one_flow
from heliograph.cli.output import Data, Format, FormatOption, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.config.flow import FlowConfig
    from heliograph.kafka.sample import Sample
    from heliograph.transforms.reference import Entry
    from heliograph.transforms.trial import Trial

_FAILED = 1

TopicOption = Annotated[str | None, typer.Option("--topic", help="A topic of the source.")]
PartitionOption = Annotated[
    int | None, typer.Option("--partition", min=0, help="Only this partition; with --offset, 0 if it is not given.")
]
OffsetOption = Annotated[
    int | None, typer.Option("--offset", min=0, help="The first record to try. Without: the newest records.")
]
CountOption = Annotated[int, typer.Option("--count", min=1, max=1000, help="How many records.")]
RecordOption = Annotated[
    Path | None, typer.Option("--record", help="Instead of a real record, one from a JSON file; or a list of them.")
]
NameArgument = Annotated[str | None, typer.Argument(help="A transform or predicate, to see all its settings.")]

app = typer.Typer(name="transform", help="Try out and look up transforms and predicates.", no_args_is_help=True)


@app.command(name="try")
def try_out(
    file: FileArgument,
    flow: FlowOption = None,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    offset: OffsetOption = None,
    count: CountOption = 1,
    record: RecordOption = None,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show records before and after the transforms of a flow; writes nothing anywhere.

    Exit code: 0 they passed or were dropped, 1 one failed, 2 the file is wrong.

    \b
    heliograph transform try mm2.properties --flow 'primary->backup' --topic orders
    heliograph transform try mm2.properties --flow 'primary->backup' --topic orders --partition 3 --offset 1500
    heliograph transform try mm2.properties --flow 'primary->backup' --record order.json -o json
    """
    from heliograph.config.mirror_config import load

    config = load(file)
    chosen = one_flow(config, flow)
    samples = _samples(chosen, topic, partition, offset, count, record)
    result = TryResult(chosen.name, _trials(chosen, samples, config.spark))
    show(result, output_format)
    if result.failures:
        raise typer.Exit(_FAILED)


@app.command(name="list")
def list_all(name: NameArgument = None, output_format: FormatOption = Format.TABLE) -> None:
    """List all built-in transforms and predicates, or all settings of one.

    \b
    heliograph transform list
    heliograph transform list MaskPII
    heliograph transform list 'org.apache.kafka.connect.transforms.Cast$Value' -o json
    """
    from heliograph.transforms.reference import entries

    if name is None:
        show(ListResult(entries()), output_format)
    else:
        show(EntryResult(_entry(name)), output_format)


def _samples(
    flow: FlowConfig, topic: str | None, partition: int | None, offset: int | None, count: int, record: Path | None
) -> list[Sample]:
    from heliograph.cli.record_file import read_records
    from heliograph.kafka.access import access_for
    from heliograph.kafka.sample import newest_records, records_from
    from heliograph.model import TopicPartition

    if record is not None:
        return read_records(record, topic)
    if topic is None:
        raise typer.BadParameter("name a topic of the source with --topic, or a file with --record")
    access = access_for(flow.source, "consumer")
    if offset is not None:
        return records_from(access, TopicPartition(topic, partition or 0), offset, count)
    return newest_records(access, topic, count, partition)


def _trials(flow: FlowConfig, samples: Sequence[Sample], spark_settings: Mapping[str, str]) -> list[Trial]:
    from heliograph.transforms.message import Header
    from heliograph.transforms.trial import TrialBench

    bench = TrialBench(flow.transforms)
    messages = [
        bench.message(
            flow.replication_policy.format_remote_topic(flow.source.alias, where.topic),
            where.partition,
            record.timestamp,
            record.key,
            record.value,
            [Header(*item) for item in record.headers],
            where.topic,
            record.offset,
        )
        for where, record in samples
    ]
    if not flow.sql:
        return [bench.run(message) for message in messages]
    from heliograph.engine.tables.sql_trial import sql_trials  # not at the top: Spark takes its time

    return sql_trials(flow.sql, bench, messages, spark_settings)


def _entry(name: str) -> Entry:
    from heliograph.transforms.catalogue import ALIASES
    from heliograph.transforms.reference import entries

    found = {entry.name: entry for entry in entries()}
    short = ALIASES.get(name, name).rpartition(".")[2].removesuffix("$Key").removesuffix("$Value")
    if short not in found:
        close = get_close_matches(short, found, n=1)
        raise typer.BadParameter(f"there is no {name}" + (f"; did you mean {close[0]}?" if close else ""))
    return found[short]


@dataclass(frozen=True)
class TryResult:
    """What became of some records."""

    flow: str
    trials: Sequence[Trial]

    @property
    def failures(self) -> int:
        """How many records failed."""
        from heliograph.transforms.trial import Ending

        return sum(trial.ending is Ending.FAILED for trial in self.trials)

    def data(self) -> Data:
        """The result as plain values."""
        from heliograph.cli.trial_view import trial_data

        return {"flow": self.flow, "records": [trial_data(trial) for trial in self.trials]}

    def view(self) -> RenderableType:
        """For each record what became of it, by which stages, and both versions side by side."""
        from rich.console import Group
        from rich.text import Text

        from heliograph.cli.trial_view import trial_view

        if not self.trials:
            return Text("there are no records")
        return Group(*(part for trial in self.trials for part in trial_view(trial)))


@dataclass(frozen=True)
class ListResult:
    """All transforms and predicates."""

    entries: Sequence[Entry]

    def data(self) -> Data:
        """The result as plain values."""
        return [_entry_data(entry) for entry in self.entries]

    def view(self) -> RenderableType:
        """One line each."""
        table = output.table("name", "kind", "keys", "what it does")
        for entry in self.entries:
            output.add_row(table, entry.name, entry.kind, _keys(entry), entry.doc)
        return table


@dataclass(frozen=True)
class EntryResult:
    """One transform or predicate."""

    entry: Entry

    def data(self) -> Data:
        """The result as plain values."""
        return _entry_data(self.entry)

    def view(self) -> RenderableType:
        """What it is called, what it does, and a table of its settings."""
        from rich.console import Group
        from rich.text import Text

        from heliograph.transforms.reference import default_text, meaning

        heading = [Text(f"{self.entry.name} ({self.entry.kind}): {self.entry.doc}")]
        names = [Text(f"  type = {name}") for name in self.entry.class_names]
        table = output.table("key", "default", "meaning")
        for option in self.entry.options:
            output.add_row(table, option.key, default_text(option), meaning(option))
        return Group(*heading, *names, *([table] if self.entry.options else []))


def _keys(entry: Entry) -> str:
    return ", ".join(option.key for option in entry.options) or "-"


def _entry_data(entry: Entry) -> Data:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "types": list(entry.class_names),
        "doc": entry.doc,
        "options": [
            {
                "key": option.key,
                "default": option.default,
                "required": option.is_required,
                "choices": list(option.choices),
                "doc": option.doc,
            }
            for option in entry.options
        ],
    }
