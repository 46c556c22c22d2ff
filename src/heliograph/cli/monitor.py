"""`heliograph monitor`: watches how far targets are behind, whoever mirrors, and tells others."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from heliograph.cli import output
from heliograph.cli.config import FileArgument
from heliograph.cli.flows import FlowOption, chosen_flows
from heliograph.cli.output import Data, Format, FormatOption

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from rich.console import RenderableType
    from rich.table import Table

    from heliograph.monitor.alerts import Alert
    from heliograph.monitor.judgement import Thresholds
    from heliograph.monitor.lag import TopicLag
    from heliograph.monitor.look import Look
    from heliograph.monitor.monitor import Monitor, Receivers, Round
    from heliograph.monitor.observer import Observer
    from heliograph.policy.java_regex import JavaPattern

_EXCEEDED, _CANNOT_LOOK, _NOT_DELIVERED = 4, 3, 1
_HTTP_SECONDS = 10.0
_SHOWN_PARTITIONS = 5
_OTHER_LINES = 6  # of the live view: heading, flows, the prompt

Show = Callable[["RoundResult"], None]


def _address(url: str | None) -> str | None:
    from heliograph.monitor.endpoint import BadAddress, check_address

    if url is not None:
        try:
            check_address(url)
        except BadAddress as error:
            raise typer.BadParameter(str(error)) from None
    return url


TopicsOption = Annotated[
    str | None,
    typer.Option("--topics", help="Names or regular expressions, with commas between; all that is mirrored if absent."),
]
IntervalOption = Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two rounds.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Do one round; the exit code tells what it found.")]
ThresholdOption = Annotated[
    int, typer.Option("--threshold", min=0, help="Records that a topic may lag; twice as many are critical.")
]
LatencyOption = Annotated[
    int | None,
    typer.Option("--latency-threshold-ms", min=0, help="Latency that a flow may have; twice as much is critical."),
]
PushgatewayOption = Annotated[
    str | None, typer.Option("--pushgateway", metavar="URL", callback=_address, help="Push metrics there.")
]
WebhookOption = Annotated[
    str | None, typer.Option("--webhook", metavar="URL", callback=_address, help="Post alerts there as JSON.")
]
AlertmanagerOption = Annotated[
    str | None, typer.Option("--alertmanager", metavar="URL", callback=_address, help="Post alerts to its API v2.")
]
RepeatOption = Annotated[
    float, typer.Option("--repeat", min=0, help="Minutes until the webhook is told again of an alert that lasts.")
]


def monitor(
    file: FileArgument,
    flow: FlowOption = None,
    topics: TopicsOption = None,
    interval: IntervalOption = 30.0,
    once: OnceOption = False,
    threshold: ThresholdOption = 10_000,
    latency_threshold_ms: LatencyOption = None,
    pushgateway: PushgatewayOption = None,
    webhook: WebhookOption = None,
    alertmanager: AlertmanagerOption = None,
    repeat: RepeatOption = 60.0,
    output_format: FormatOption = Format.TABLE,
) -> None:
    """Watch the lag of every topic and the latency of every flow, until Ctrl-C; push metrics and send alerts.

    Needs only the two clusters, so it works beside MirrorMaker 2 as well. Lag is counted from the mirror's positions,
    from MirrorMaker 2's offset syncs, or, where there are none, from the ends of both topics; the output says which.
    Latency is the time from the source's clock in a heartbeat to its arrival on the target; while none arrives, it is
    the age of the newest, which grows.

    With --once, the exit code is 4 if a threshold is exceeded, else 3 if a cluster could not be looked at, else 1 if
    something could not be delivered, else 0.

    \b
    heliograph monitor mm2.properties
    heliograph monitor mm2.properties --once --threshold 5000 -o json
    heliograph monitor mm2.properties --pushgateway http://pushgateway:9091 --webhook https://alerts.example/hook
    """
    from heliograph.monitor.judgement import Thresholds
    from heliograph.monitor.monitor import Monitor, Pace

    observers = _observers(file, flow, topics)
    thresholds = Thresholds(threshold, latency_threshold_ms)
    with _http_client() as client, _stop_signals() as stopping:
        receivers = _receivers(client, pushgateway, webhook, alertmanager)
        watcher = Monitor(observers, thresholds, receivers, Pace(interval, repeat))
        if once:
            _do_once(watcher, thresholds, stopping, output_format)
        else:
            _do_until_stopped(watcher, thresholds, stopping, interval, output_format)


def _observers(file: Path, flow: str | None, topics: str | None) -> list[Observer]:
    from heliograph.config.mirror_config import load
    from heliograph.monitor.observer import Observer

    patterns = _patterns(topics)
    flows = [item for item in chosen_flows(load(file), flow) if item.enabled]
    if not flows:
        raise typer.BadParameter("no flow is enabled, so there is nothing to watch")
    return [Observer(item, patterns) for item in flows]


def _patterns(topics: str | None) -> list[JavaPattern]:
    from heliograph.policy import java_regex
    from heliograph.policy.filters import split_list

    try:
        return [java_regex.compile(text) for text in split_list(topics or "")]
    except java_regex.JavaRegexError as error:
        raise typer.BadParameter(f"--topics: {error}") from None


def _http_client() -> httpx.Client:
    import httpx

    return httpx.Client(timeout=_HTTP_SECONDS)


def _receivers(
    client: httpx.Client, pushgateway: str | None, webhook: str | None, alertmanager: str | None
) -> Receivers:
    from heliograph.monitor.endpoint import Endpoint
    from heliograph.monitor.monitor import Receivers

    return Receivers(
        Endpoint("Pushgateway", pushgateway, client) if pushgateway else None,
        Endpoint("webhook", webhook, client) if webhook else None,
        Endpoint("Alertmanager", alertmanager, client) if alertmanager else None,
    )


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C ends the process at once."""
    stopping = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def stop(number: int, _: object) -> None:
        stopping.set()
        signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _do_once(watcher: Monitor, thresholds: Thresholds, stopping: threading.Event, output_format: Format) -> None:
    done = watcher.round(stopping)
    if done is not None:
        result = RoundResult(done, thresholds)
        output.show(result, output_format)
        raise typer.Exit(result.exit_code)


def _do_until_stopped(
    watcher: Monitor, thresholds: Thresholds, stopping: threading.Event, interval: float, output_format: Format
) -> None:
    with _shown(output_format) as show:
        while not stopping.is_set():
            done = watcher.round(stopping)
            if done is not None:
                show(RoundResult(done, thresholds))
                stopping.wait(interval)
    for delivery in watcher.withdraw():
        if delivery.failure:
            output.message_console().print(f"{delivery.to}: {delivery.failure}", markup=False)


@contextmanager
def _shown(output_format: Format) -> Iterator[Show]:
    """On a terminal the table stays in place; elsewhere each round is printed below the one before."""
    from rich.live import Live

    console = output.console()
    if output_format is Format.TABLE and console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda result: live.update(result.view(console.height - _OTHER_LINES), refresh=True)
        return

    def show(result: RoundResult) -> None:
        if output_format is Format.YAML:
            print("---")
        output.show(result, output_format)
        sys.stdout.flush()

    yield show


@dataclass(frozen=True)
class RoundResult:
    """One round: lags and latencies, alerts, and what could not be read or delivered."""

    done: Round
    thresholds: Thresholds

    @property
    def exit_code(self) -> int:
        """What `--once` ends with."""
        from heliograph.monitor.alerts import Kind

        if any(alert.subject.kind is not Kind.CANNOT_LOOK for alert in self.done.alerts):
            return _EXCEEDED
        if self.done.alerts:
            return _CANNOT_LOOK
        return _NOT_DELIVERED if any(delivery.failure for delivery in self.done.deliveries) else 0

    def data(self) -> Data:
        """The result as plain values."""
        from heliograph.monitor.payloads import iso_time

        return {
            "at": iso_time(self.done.at_ms),
            "flows": [_look_data(look) for look in self.done.looks],
            "alerts": [_alert_data(alert) for alert in self.done.alerts],
            "deliveries": [{"to": item.to, "failure": item.failure or None} for item in self.done.deliveries],
        }

    def view(self, rows: int | None = None) -> RenderableType:
        """One line a flow, one a topic with the furthest behind first (so many at most), then what needs attention."""
        from rich.console import Group
        from rich.text import Text

        from heliograph.monitor.payloads import iso_time

        notes = [Text(line, style="red") for line in self._warnings()]
        notes += [Text(note) for look in self.done.looks for note in look.notes]
        flows = [Text(_flow_line(look)) for look in self.done.looks]
        room = None if rows is None else max(1, rows - len(notes) - len(flows))
        return Group(Text(iso_time(self.done.at_ms)), *flows, *self._topics(room), *notes)

    def _topics(self, room: int | None) -> list[RenderableType]:
        from rich.text import Text

        lines = [(look, topic) for look in self.done.looks for topic in look.topics]
        lines.sort(key=lambda line: -_weight(line[1]))
        hidden = 0 if room is None else max(0, len(lines) - room)
        table = _topic_table(lines[: len(lines) - hidden], self.thresholds.lag_records)
        return [table, *([Text(f"and {hidden} more topics that are less behind")] if hidden else [])]

    def _warnings(self) -> Iterator[str]:
        for alert in self.done.alerts:
            yield f"{alert.severity.value}: {alert.condition.message}"
        for delivery in self.done.deliveries:
            if delivery.failure:
                yield f"not delivered to {delivery.to}, tried again in the next round: {delivery.failure}"


def _topic_table(lines: Sequence[tuple[Look, TopicLag]], threshold: int) -> Table:

    from heliograph.monitor.alerts import level_of

    table = output.table("flow", "topic", "lag", "level", "from", "partitions behind")
    for look, topic in lines:
        lag = topic.lag_records
        level = "unknown" if lag is None else level_of(lag, threshold).value
        table.add_row(
            look.flow, topic.topic, "unknown" if lag is None else f"{lag:,}", level,
            topic.method.value if topic.method else "no records", _behind(topic),
        )  # fmt: skip
    return table


def _behind(topic: TopicLag) -> str:
    behind = sorted((item for item in topic.partitions if item.lag_records), key=lambda item: -item.lag_records)
    parts = [f"{item.partition}: {item.lag_records:,}" for item in behind[:_SHOWN_PARTITIONS]]
    parts += [f"and {len(behind) - _SHOWN_PARTITIONS} more"] if len(behind) > _SHOWN_PARTITIONS else []
    parts += [f"{number}: unknown" for number in topic.unreadable[:_SHOWN_PARTITIONS]]
    return ", ".join(parts)


def _weight(topic: TopicLag) -> float:
    return float("inf") if topic.lag_records is None else topic.lag_records


def _flow_line(look: Look) -> str:
    known = [topic.lag_records for topic in look.topics if topic.lag_records is not None]
    lag = f"{sum(known):,} records behind" if look.is_complete else "cannot be looked at"
    latency = look.latency
    shown = "latency unknown" if latency is None else f"latency {latency.milliseconds:,} ms ({latency.method.value})"
    return f"{look.flow}: {lag}, {shown}"


def _look_data(look: Look) -> dict[str, Data]:
    return {
        "flow": look.flow,
        "source": look.source,
        "target": look.target,
        "up": look.is_complete,
        "latency_ms": look.latency.milliseconds if look.latency else None,
        "latency_method": look.latency.method.value if look.latency else None,
        "topics": [_topic_data(topic) for topic in look.topics],
        "troubles": [{"cluster": item.cluster, "reason": item.reason} for item in look.troubles],
        "notes": list(look.notes),
    }


def _topic_data(topic: TopicLag) -> Data:
    return {
        "topic": topic.topic,
        "target": topic.target_topic,
        "lag_records": topic.lag_records,
        "method": topic.method.value if topic.method else None,
        "partitions": [
            {
                "partition": item.partition,
                "lag_records": item.lag_records,
                "next_offset": item.next_offset,
                "end": item.end,
                "method": item.method.value,
            }
            for item in topic.partitions
        ],
        "unreadable": list(topic.unreadable),
    }


def _alert_data(alert: Alert) -> Data:
    subject, condition = alert.subject, alert.condition
    return {
        "kind": subject.kind.value,
        "severity": alert.severity.value,
        "flow": subject.flow,
        "topic": subject.topic or None,
        "message": condition.message,
        "value": condition.value,
        "threshold": condition.threshold,
    }
