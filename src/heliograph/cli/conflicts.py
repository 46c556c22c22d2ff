"""`heliograph conflicts`: how often clusters contradict each other, in which keys, and who won."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.output import Data, Format, FormatOption
from heliograph.cli.since import seconds_of
from heliograph.cli.status import WatchOption

if TYPE_CHECKING:
    from rich.console import RenderableType

    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.conflicts.decision import Decision
    from heliograph.control.conflicts.book import Bar, Figures, TopicKey
    from heliograph.control.conflicts.comparison import Agreement, Difference
    from heliograph.control.conflicts.top_counts import Count
    from heliograph.control.conflicts.watch import ClusterConflicts

_CANNOT_READ, _DIFFERENT = 1, 4
_WATCH_SECONDS = 2.0
_KEY_WIDTH = 60
_LEVELS = "▁▂▃▄▅▆▇█"

SinceOption = Annotated[str, typer.Option("--since", help="Only decisions of the last time: 30m, 1h, 2d.")]
TopicOption = Annotated[
    str | None, typer.Option("--topic", help="Only conflicts in this topic, by its name where it is written.")
]
KeyOption = Annotated[str | None, typer.Option("--key", help="Only conflicts of this key; base64 if it is no text.")]
ClusterOption = Annotated[
    list[str] | None, typer.Option("--cluster", help="Only what this cluster has decided; may be given again.")
]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=200, help="So many keys and examples at most.")]
CompareOption = Annotated[
    bool,
    typer.Option("--compare", help="Only list what clusters have decided differently; exit code 4 if there is any."),
]


def conflicts(
    file: FileArgument,
    watch: WatchOption = False,
    since: SinceOption = "1h",
    topic: TopicOption = None,
    key: KeyOption = None,
    cluster: ClusterOption = None,
    compare: CompareOption = False,
    limit: LimitOption = 5,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Show conflicts that were found: rates, keys, the records that met, and which one won.

    Reads the topic conflict-resolutions of each cluster that looks for conflicts; needs no running mirror.

    Where several clusters look for conflicts in a topic, they should settle them alike: this is checked as well.
    Conflicts that are younger than their window and a minute are left out of that, as a cluster may be busy with them.

    Exit code: 0, 1 a cluster could not be read, 2 the file is wrong, 4 clusters differ (with --compare).

    \b
    heliograph conflicts mm2.properties
    heliograph conflicts mm2.properties --watch --topic orders
    heliograph conflicts mm2.properties --since 1d --key order-7 --limit 20
    heliograph conflicts mm2.properties --since 6h --compare -o json
    """
    from heliograph.config.mirror_config import load
    from heliograph.control.conflicts.comparison import HEAD_START_MS
    from heliograph.control.conflicts.watch import ConflictWatch, Span, Wanted

    config = load(file)
    aliases = _clusters(config, cluster, watch, compare)
    span = Span.last(seconds_of(since) * 1000, 0 if watch else HEAD_START_MS)
    watcher = ConflictWatch(config, aliases, span, Wanted(topic, key))
    if watch:
        output.show_again(lambda: ConflictsResult(watcher.look(limit), None), output_format, _WATCH_SECONDS)
    found, agreement = watcher.compare(limit)
    result = CompareResult(found, agreement, limit) if compare else ConflictsResult(found, agreement)
    output.show(result, output_format)
    raise typer.Exit(result.exit_code)


def _clusters(config: MirrorConfig, chosen: Sequence[str] | None, watch: bool, compare: bool) -> Sequence[str]:
    """Those that were asked for, or all that look for conflicts; or just all, to say that none does."""
    for alias in chosen or ():
        if alias not in config.clusters:
            raise typer.BadParameter(f"there is no cluster {alias}; clusters are {', '.join(config.clusters)}")
    on = [item.cluster.alias for item in config.conflicts]
    if compare and watch:
        raise typer.BadParameter("--compare looks once: leave out --watch")
    if compare and len([alias for alias in on if not chosen or alias in chosen]) < 2:
        raise typer.BadParameter("--compare takes two clusters that look for conflicts (conflicts.topics)")
    return tuple(dict.fromkeys(chosen or on or config.clusters))


@dataclass(frozen=True)
class ConflictsResult:
    """What each cluster tells."""

    clusters: Sequence[ClusterConflicts]
    agreement: Agreement | None

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return _CANNOT_READ if any(item.trouble for item in self.clusters) else 0

    def data(self) -> Data:
        """The result as plain values."""
        return {
            "clusters": [_cluster_data(item) for item in self.clusters],
            "agreement": _agreement_data(self.agreement) if self.agreement else None,
        }

    def view(self) -> RenderableType:
        """Cluster by cluster: rates, what they are about, keys, examples; then whether they agree."""
        from rich.console import Group
        from rich.text import Text

        width = output.console().width
        parts = [part for item in self.clusters for part in _cluster_view(item, width)]
        if self.agreement:
            hint = "" if self.agreement.is_equal else "; --compare lists them"
            parts.append(Text(_verdict(self.agreement) + hint, style="green" if self.agreement.is_equal else "red"))
        return Group(*parts)


@dataclass(frozen=True)
class CompareResult:
    """What clusters have decided differently."""

    clusters: Sequence[ClusterConflicts]
    agreement: Agreement | None
    limit: int

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.agreement is None:
            return _CANNOT_READ
        return 0 if self.agreement.is_equal else _DIFFERENT

    def data(self) -> Data:
        """The result as plain values, with all differences."""
        return {
            "troubles": _troubles(self.clusters),
            "agreement": _agreement_data(self.agreement) if self.agreement else None,
        }

    def view(self) -> RenderableType:
        """The differences, so many at most, and the verdict."""
        from rich.console import Group
        from rich.text import Text

        if self.agreement is None:
            troubles = _troubles(self.clusters)
            return Group(*(Text(f"{alias}: cannot be read: {why}", style="red") for alias, why in troubles.items()))
        width, found = output.console().width, self.agreement.differences
        parts = [part for item in found[: self.limit] for part in _difference_view(item, self.agreement, width)]
        if len(found) > self.limit:
            parts.append(Text(f"and {len(found) - self.limit} more; -o json lists all"))
        parts.append(Text(_verdict(self.agreement), style="green" if self.agreement.is_equal else "red"))
        return Group(*parts)


def _cluster_view(item: ClusterConflicts, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    from heliograph.cli.decision_view import decision_view

    if item.trouble:
        yield Text(f"{item.cluster}: cannot be read: {item.trouble}", style="red")
    elif not item.exists:
        yield Text(_absent(item), style="yellow")
    if item.unreadable:
        yield Text(f"{item.cluster}: {item.unreadable:,} records of the topic are no decisions", style="yellow")
    if not item.exists:
        return
    yield Text(f"{item.cluster}: {_rates(item.figures)}", style="bold")
    if not item.figures.conflicts:
        return
    if curve := _curve(item.figures.bars):
        yield Text(f"  {curve}")
    yield _counts(item.figures)
    yield Text("")
    for decision in item.figures.examples:
        yield from decision_view(decision, width)
        yield Text("")


def _absent(item: ClusterConflicts) -> str:
    from heliograph.conflicts.decision import TOPIC

    if item.is_on:
        return (
            f"{item.cluster}: there is no topic {TOPIC} yet: conflicts.topics is set, but no mirror has begun to look"
        )
    return (
        f"{item.cluster}: detection is off, and there is no topic {TOPIC}; to turn it on, set "
        f"{item.cluster}.conflicts.topics (or conflicts.topics for all clusters), such as orders"
    )


def _rates(figures: Figures) -> str:
    from heliograph.cli.decision_view import moment

    since = f"since {moment(figures.since_ms)}"
    if not figures.conflicts:
        return f"no conflicts {since}"
    hour = "" if figures.last_hour is None else f", {figures.last_hour:,} in the last hour"
    return (
        f"{figures.conflicts:,} conflicts {since}, {figures.per_minute:,.2f} a minute{hour}, "
        f"{figures.last_minute:,} in the last minute; the last {_ago(figures.now_ms - figures.last_ms)} ago"
    )


def _ago(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def _curve(bars: Sequence[Bar]) -> str:
    """One letter for each slice of time, and what the highest stands for."""
    highest = max((bar.conflicts for bar in bars), default=0)
    if not highest:
        return ""
    steps = [-(-bar.conflicts * (len(_LEVELS) - 1) // highest) for bar in bars]
    return f"{''.join(_LEVELS[step] for step in steps)}  at most {highest:,} in {bars[0].span_ms / 1000:g} s"


def _counts(figures: Figures) -> RenderableType:
    from heliograph.cli.decision_view import cut
    from heliograph.conflicts.decision import as_text

    table = output.table("  of", "", "conflicts")
    for name, counts in (("topic", figures.topics), ("rule", figures.rules), ("winner", figures.winners)):
        for entry in counts:
            output.add_row(table, f"  {name}", entry.item, _number(entry))
    for key in figures.keys:
        shown = f"{key.item.topic}  {cut(as_text(key.item.key)[0], _KEY_WIDTH)}"
        output.add_row(table, "  key", shown, _number(key))
    return table


def _number(entry: Count[str] | Count[TopicKey]) -> str:
    return f"{entry.count:,}" if entry.is_exact else f"at least {entry.count:,}"


def _difference_view(item: Difference, agreement: Agreement, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    from heliograph.cli.decision_view import decision_view

    for alias in agreement.clusters:
        found = item.by_cluster.get(alias, ())
        told = f"{len(found)} decisions" if len(found) > 1 else "decided" if found else "has not decided"
        yield Text(f"{item.kind.value}: {alias}: {told}", style="red")
        for decision in found:
            yield from decision_view(decision, width)
    yield Text("")


def _verdict(agreement: Agreement) -> str:
    names = " and ".join(agreement.clusters)
    waiting = f", {agreement.under_way:,} too young to tell" if agreement.under_way else ""
    if agreement.is_equal:
        return f"{names} agree: {agreement.agreed:,} conflicts settled alike{waiting}"
    return f"{names} DIFFER in {len(agreement.differences):,}: {agreement.agreed:,} conflicts settled alike{waiting}"


def _troubles(clusters: Sequence[ClusterConflicts]) -> dict[str, Data]:
    return {item.cluster: item.trouble for item in clusters if item.trouble}


def _cluster_data(item: ClusterConflicts) -> Data:
    figures = item.figures
    return {
        "cluster": item.cluster,
        "is_on": item.is_on,
        "exists": item.exists,
        "trouble": item.trouble or None,
        "unreadable": item.unreadable,
        "since_ms": figures.since_ms,
        "conflicts": figures.conflicts,
        "per_minute": round(figures.per_minute, 3),
        "last_hour": figures.last_hour,
        "last_minute": figures.last_minute,
        "last_ms": figures.last_ms or None,
        "topics": [_count_data(entry) for entry in figures.topics],
        "rules": [_count_data(entry) for entry in figures.rules],
        "winners": [_count_data(entry) for entry in figures.winners],
        "keys": [_key_data(entry) for entry in figures.keys],
        "decisions": [_decision_data(decision) for decision in figures.examples],
    }


def _count_data(entry: Count[str]) -> Data:
    return {"name": entry.item, "conflicts": entry.count, "is_exact": entry.is_exact}


def _key_data(entry: Count[TopicKey]) -> Data:
    from heliograph.conflicts.decision import as_text

    text, encoding = as_text(entry.item.key)
    more: dict[str, Data] = {"key_encoding": encoding} if encoding else {}
    return {
        "topic": entry.item.topic, "key": text, **more, "conflicts": entry.count, "is_exact": entry.is_exact
    }  # fmt: skip


def _decision_data(decision: Decision) -> Data:
    """The members as they stand in the topic."""
    import json

    from heliograph.conflicts.decision import encode_decision

    members: Data = json.loads(encode_decision(decision))
    return members


def _agreement_data(agreement: Agreement) -> Data:
    return {
        "clusters": list(agreement.clusters),
        "is_equal": agreement.is_equal,
        "agreed": agreement.agreed,
        "under_way": agreement.under_way,
        "differences": [
            {
                "kind": item.kind.value,
                "decisions": {
                    alias: [_decision_data(decision) for decision in found] for alias, found in item.by_cluster.items()
                },
            }
            for item in agreement.differences
        ],
    }
