"""The table of metrics is sound, documented, and what it promises is served."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

from heliograph.control.metrics import reference
from heliograph.control.metrics.metric import Kind
from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.table import GROUPS
from tests.control.metrics.still_mirror import StillMirror
from tests.programs import program

_PAGE = Path(__file__).parents[3] / reference.PAGE
_NAMES = [name for group in GROUPS for metric in group.metrics for name in metric.names]
_SEEDS = {
    f"kafka_connect_mirror_source_connector_{name}"
    for name in (
        *("record_count", "record_rate", "byte_count", "byte_rate"),
        *(
            f"{kind}_ms{suffix}"
            for kind in ("record_age", "replication_latency")
            for suffix in ("", "_avg", "_min", "_max")
        ),
    )
}


def test_the_reference_is_up_to_date() -> None:
    assert _PAGE.read_text(encoding="utf-8") == reference.markdown(), f"run: {reference.COMMAND}"


def test_no_name_stands_twice_and_all_names_are_legal() -> None:
    assert [name for name, count in Counter(_NAMES).items() if count > 1] == []
    assert [name for name in _NAMES if not re.fullmatch(r"[a-z_][a-z0-9_]*", name)] == []


def test_the_names_that_people_know_are_there() -> None:
    strimzi = {name.replace("source_connector", "mirrorsourceconnector") for name in _SEEDS}
    known = _SEEDS | strimzi | {
        "kafka_connect_mirror_checkpoint_connector_checkpoint_latency_ms",
        "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms_avg",
        "kafka_connect_mirror_checkpoint_connector_group_count",
        "kafka_connect_worker_connector_count",
        "kafka_connect_worker_task_count",
        "kafka_connect_worker_connector_failed_task_count",
        "kafka_connect_connector_status",
        "kafka_connect_worker_rebalance_rebalancing",
        "kafka_connect_coordinator_assigned_tasks",
        "kafka_consumer_fetch_manager_records_lag",
        "kafka_producer_outgoing_byte_total",
        "kafka_consumer_incoming_byte_total",
        "mirrormaker_offset_lag",
        "mirrormaker_partition_lag",
        "mirrormaker_replication_latency_ms",
    }  # fmt: skip
    assert known - set(_NAMES) == set()


def test_only_what_never_falls_is_a_counter() -> None:
    kinds = {metric.name: metric.kind for group in GROUPS for metric in group.metrics}
    assert {name for name, kind in kinds.items() if kind is Kind.COUNTER} == {
        name
        for name in kinds
        if name.endswith("_total")
        or re.fullmatch(r"kafka_connect_mirror_(source|heartbeat)_connector_(record|byte|failure)_count", name)
    }


def test_our_own_names_and_texts_are_as_prometheus_likes_them(tmp_path: Path) -> None:
    still = StillMirror.of(tmp_path)
    metrics = MirrorMetrics(still.mirror)
    still.mirrored([3, 4])
    lines = [line for line in metrics.page().text.decode().splitlines() if "heliograph_" in line]
    done = subprocess.run(
        [program("promtool", "prometheus"), "check", "metrics"],
        input="\n".join([*lines, ""]), capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
