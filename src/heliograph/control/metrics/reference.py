"""The reference page of all metrics, made from their table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from heliograph.control.metrics.metric import Group
from heliograph.control.metrics.mirror_metrics import PARTITIONS_MAX
from heliograph.control.metrics.partition_view import OTHER
from heliograph.control.metrics.table import GROUPS

PAGE: Final = Path("docs/metrics.md")
COMMAND: Final = f"python -m heliograph.control.metrics.reference {PAGE}"

_HEAD: Final = f"""# Metrics

`GET /metrics` of the REST server gives all metrics of a running mirror in Prometheus' text format, to callers with the
role viewer. This page is generated from the table in `src/heliograph/control/metrics`; to renew it run
`{COMMAND}`. `deploy/prometheus` has a scrape configuration and alert rules,
`deploy/grafana` a dashboard. Metrics of the process itself (`process_*`) come from Prometheus' own library.

## What the numbers mean
- **What stands still looks bad.** Lag and ages grow while a flow is paused, fails or is not ours, and while the source
  cannot be asked. Without new records a latency keeps its last value if nothing waits; else it is the time that the
  first record has waited. It never falls to 0 because nothing arrives.
- **Times of records.** Lag in seconds and latencies go by the records' own times. Where producers write other times
  than the present, trust lag in records and `heliograph_partition_stalled_seconds`, which goes by our own clock.
- **One transaction, one measure.** A transaction tells the newest, the oldest and the mean time of its records in each
  partition. MirrorMaker 2 takes a record's age when it polls it and its latency when the target has acknowledged it.
  Here both are taken at the commit, when consumers can see the record, so both have the same value.
- **Bytes** are whole record batches as brokers store them, compressed or not. MirrorMaker 2 counts the values of
  records alone, uncompressed.
- **The label `topic`** is the name on the target with MirrorMaker 2's own metrics, as there, and the name on the source
  with lag, as lag monitors and consumers have it.
- **Names.** MirrorMaker 2's metrics are there under the names of the usual JMX exporter rules
  (`kafka_connect_mirror_source_connector_*`) and under Strimzi's (`kafka_connect_mirror_mirrorsourceconnector_*`).
- **Several flows in one process** have the labels `source` and `target` also where Kafka Connect has none.
- **Many partitions.** Of each flow at most `{PARTITIONS_MAX}` partitions have series of their own: with gauges those
  that are set aside or furthest behind, with counters those seen first, since a counter must never fall. All others
  are one series together, with topic and partition `{OTHER}`: sums, and of ages the worst. The same limit holds for
  topics, and for checkpoints, of which the slowest are shown. `heliograph_partitions_left_out` says how many partitions
  and checkpoints have no series of their own.
- **A page is made** when someone asks and the last one is older than a second, or than 50 times what it took to make.
- **Not known:** how often brokers of the target throttle or refuse single requests. What they refuse for good sets a
  partition aside; what holds a lane up shows as `heliograph_flow_in_trouble`. Kafka Connect's `task_startup_*` have no
  counterpart: Spark starts a lane anew in every epoch.
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *("\n".join(_section(group)) for group in GROUPS)])


def _section(group: Group[Any]) -> Iterator[str]:
    labels = ", ".join(f"`{label}`" for label in group.labels) or "none"
    yield f"## {group.title}\n\nLabels: {labels}.\n"
    yield "| metric | type | meaning |\n|---|---|---|"
    for metric in group.metrics:
        names = "<br>".join(f"`{name}`" for name in metric.names)
        yield f"| {names} | {metric.kind.value} | {metric.help} |"
    yield ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(), encoding="utf-8")
