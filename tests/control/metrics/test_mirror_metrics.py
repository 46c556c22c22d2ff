"""What a page tells of a mirror: right numbers, not too many, and nothing looks better than it is."""

from __future__ import annotations

import gzip
import threading
import time
from pathlib import Path

import pytest

from heliograph.control.connector import Connector, RunState
from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.partition_view import OTHER
from heliograph.control.running_flow import FlowHealth
from heliograph.engine.flow import Trouble
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.model import Event, EventKind, TopicPartition
from tests.control.metrics.scrape import Scrape
from tests.control.metrics.still_mirror import StillMirror

_SOURCE = "kafka_connect_mirror_source_connector_"
_FIRST = {"topic": "orders", "partition": "0"}


class Watched:
    """A still mirror and its metrics."""

    def __init__(self, folder: Path, settings: str = "", partitions: int = 2) -> None:
        self.still = StillMirror.of(folder, settings, partitions)
        self.metrics = MirrorMetrics(self.still.mirror)

    def scrape(self) -> Scrape:
        """A page made now."""
        self.metrics._good_until = 0
        return Scrape.of(self.metrics.page().text.decode())


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    """A flow of two partitions."""
    return Watched(tmp_path)


def test_what_was_mirrored_is_counted_by_partition_and_flow(watched: Watched) -> None:
    watched.still.mirrored([3, 4], latency_ms=20, commit_ms=6)
    watched.still.mirrored([10, 0], latency_ms=40, commit_ms=6)
    page = watched.scrape()
    for prefix in (_SOURCE, "kafka_connect_mirror_mirrorsourceconnector_"):
        counts = {
            number: page.value(prefix + "record_count", source="A", target="B", topic="A.orders", partition=number)
            for number in ("0", "1")
        }
        assert counts == {"0": 13, "1": 4}
        assert page.value(prefix + "byte_count", partition="0") == 13 * 7
        assert page.value(prefix + "record_rate", partition="0") == round(13 / 60, 3)
        assert page.value(prefix + "replication_latency_ms", partition="0") == 40
        assert page.value(prefix + "replication_latency_ms_avg", partition="0") == round((3 * 20 + 10 * 40) / 13, 3)
        assert page.value(prefix + "replication_latency_ms_min", partition="0") == 20
        assert page.value(prefix + "record_age_ms_max", partition="0") == 40
    assert page.value("heliograph_records_total") == 17
    assert page.value("kafka_producer_outgoing_byte_total") == 17 * 7
    assert page.value("heliograph_transactions_total") == 2
    assert page.value("heliograph_transaction_records_sum") == 17
    assert page.value("heliograph_transaction_bytes_count") == 2
    assert page.value("heliograph_commit_latency_seconds_sum") == pytest.approx(0.012)
    assert page.value("heliograph_commit_latency_seconds_bucket", le="0.005") == 0
    assert page.value("heliograph_commit_latency_seconds_bucket", le="0.01") == 2
    assert page.types[_SOURCE + "record_count"] == "counter"
    assert page.types[_SOURCE + "record_rate"] == "gauge"


def test_lag_is_told_under_all_its_names(watched: Watched) -> None:
    watched.still.lags({0: 5, 1: 7}, seconds=3.5)
    page = watched.scrape()
    assert page.value("mirrormaker_offset_lag", topic="orders") == 12
    assert page.value("mirrormaker_partition_lag", **_FIRST) == 5
    assert page.value("heliograph_partition_lag_records", **_FIRST) == 5
    assert page.value("heliograph_partition_lag_seconds", **_FIRST) == 3.5
    consumer = "A->B|MirrorSourceConnector|replication-consumer"
    assert page.value("kafka_consumer_fetch_manager_records_lag", clientid=consumer, **_FIRST) == 5
    assert (page.value("heliograph_lag_records"), page.value("heliograph_lag_seconds")) == (12, 3.5)
    assert page.value("mirrormaker_replication_latency_ms") == 3500


def test_everything_gets_worse_while_the_source_cannot_be_asked(watched: Watched) -> None:
    watched.still.mirrored([3, 4])
    before = watched.scrape()
    assert before.value("heliograph_rpo_seconds") == 0
    watched.still.looked(seconds_ago=100)
    page = watched.scrape()
    for name in ("heliograph_rpo_seconds", "heliograph_lag_seconds", "heliograph_lag_look_age_seconds"):
        assert page.value(name) == pytest.approx(100, abs=2)
    assert page.value("heliograph_partition_lag_seconds", **_FIRST) == pytest.approx(100, abs=2)
    assert page.value(_SOURCE + "replication_latency_ms", partition="0") == pytest.approx(100_000, abs=2_000)
    assert page.value("mirrormaker_replication_latency_ms") == pytest.approx(100_000, abs=2_000)
    assert page.value("heliograph_flow_healthy") == 0
    assert page.value("heliograph_flow_health", health="stalled") == 1


def test_a_source_that_was_never_seen_is_no_source_without_lag(watched: Watched) -> None:
    watch = watched.still.flow.lag_watch
    assert watch is not None
    watch._lags = {}
    watched.still.looked(seconds_ago=50)
    assert watched.scrape().value("heliograph_rpo_seconds") == pytest.approx(50, abs=2)


def test_a_flow_that_is_not_ours_gets_further_behind(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.still.driver.in_charge.clear()
    watched.scrape()
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + 8)
    page = watched.scrape()
    assert page.value("heliograph_rpo_seconds") >= 8
    assert page.value("mirrormaker_replication_latency_ms") >= 8000
    assert page.value("heliograph_flow_health", health="starting") == 1
    assert page.value("kafka_connect_connector_status", connector="MirrorSourceConnector", status="unassigned") == 1


def test_records_of_the_future_that_wait_get_old_all_the_same(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.still.lags({0: 5, 1: 0}, seconds=0.0)
    assert watched.scrape().value("heliograph_partition_stalled_seconds", **_FIRST) == 0
    start = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: start + 9)
    page = watched.scrape()
    assert page.value("heliograph_partition_stalled_seconds", **_FIRST) == pytest.approx(9, abs=1)
    assert page.value("heliograph_lag_seconds") == pytest.approx(9, abs=1)
    assert page.value("heliograph_partition_stalled_seconds", topic="orders", partition="1") == 0
    watched.still.mirrored([1, 0])  # it moves
    assert watched.scrape().value("heliograph_partition_stalled_seconds", **_FIRST) == 0


def test_a_flow_that_ended_or_fails_is_no_running_task(watched: Watched) -> None:
    source = {"connector": Connector.SOURCE.value}
    watched.still.driver.lane_troubled("the target does not answer")
    page = watched.scrape()
    assert page.value("kafka_connect_worker_connector_failed_task_count", **source) == 1
    assert page.value("kafka_connect_connector_status", status="failed", **source) == 1
    assert page.value("heliograph_flow_in_trouble") == 1
    watched.still.driver.trouble = None
    watched.still.flow.has_ended = lambda: True
    page = watched.scrape()
    assert page.value("heliograph_flow_health", health=FlowHealth.ENDED.value) == 1
    assert page.value("kafka_connect_worker_connector_running_task_count", **source) == 0
    assert page.value("kafka_connect_worker_connector_failed_task_count", **source) == 1


def test_paused_and_stopped_connectors_are_told(watched: Watched) -> None:
    watched.still.flow.states[Connector.CHECKPOINT] = RunState.PAUSED
    watched.still.flow.states[Connector.HEARTBEAT] = RunState.STOPPED
    page = watched.scrape()
    checkpoint = {"connector": Connector.CHECKPOINT.value}
    assert page.value("heliograph_connector_state", state="paused", **checkpoint) == 1
    assert page.value("heliograph_connector_state", state="running", **checkpoint) == 0
    assert page.value("kafka_connect_worker_connector_paused_task_count", **checkpoint) == 1
    assert page.value("kafka_connect_connector_status", connector=Connector.HEARTBEAT.value, status="stopped") == 1
    assert page.value("kafka_connect_worker_connector_count") == 3
    assert page.value("kafka_connect_worker_task_count") == 2


def test_events_and_set_aside_partitions_are_counted(watched: Watched) -> None:
    where = TopicPartition("orders", 0)
    events = [Event(EventKind.TRUNCATION, where, 5, 9, "lost"), Event(EventKind.SET_ASIDE, where, 5, -1, "lost")]
    watched.still.mirrored([0, 0], events=events)
    page = watched.scrape()
    assert page.value("heliograph_events_total", kind="truncation") == 1
    assert page.value("heliograph_events_total", kind="recreated") == 0
    assert page.value("heliograph_last_event_timestamp_seconds", kind="truncation") > 0
    assert page.value("heliograph_last_event_timestamp_seconds", kind="recreated") == 0
    assert page.value("heliograph_set_aside_partitions") == 1
    assert page.value("heliograph_flow_healthy") == 0


def test_events_from_before_are_counted_too(tmp_path: Path) -> None:
    still = StillMirror.of(tmp_path)
    still.mirrored([0, 0], events=[Event(EventKind.RETENTION, TopicPartition("orders", 0), 0, 9, "gone")])
    page = Scrape.of(MirrorMetrics(still.mirror).page().text.decode())
    assert page.value("heliograph_events_total", kind="retention") == 1
    assert page.value("heliograph_last_event_timestamp_seconds", kind="retention") > 0


def test_a_chore_gets_old_while_it_fails_also_when_it_was_begun_anew(watched: Watched) -> None:
    name = "group offsets"
    chore = {"chore": "checkpoints"}
    [report] = [item for item in watched.still.flow.reports() if item.name == "checkpoints"]
    report.succeeded("", 0.1)
    report.last_success_ms -= 60_000
    report.failed("no")
    page = watched.scrape()
    assert page.value("heliograph_chore_age_seconds", **chore) == pytest.approx(60, abs=2)
    assert page.value("heliograph_chore_failing", **chore) == 1
    assert page.value("heliograph_chore_failures_total", **chore) == 1
    assert page.value("heliograph_group_sync_age_seconds") == pytest.approx(60, abs=2)
    assert not page.all("heliograph_chore_age_seconds", chore=name)  # nobody asked for it
    watched.still.flow.renew_chores(watched.still.mirror.config)
    assert watched.scrape().value("heliograph_chore_age_seconds", **chore) == pytest.approx(60, abs=2)


def test_trouble_of_lanes_and_restarts_are_counted(watched: Watched) -> None:
    driver = watched.still.driver
    driver.restarts, driver.lane_retries = 3, 5
    driver.trouble = Trouble("x", at=0.0)  # long ago
    page = watched.scrape()
    assert page.value("heliograph_query_restarts_total") == 3
    assert page.value("heliograph_lane_retries_total") == 5
    assert page.value("heliograph_flow_in_trouble") == 0
    assert page.value("kafka_connect_worker_connector_startup_failure_total") == 3
    assert page.value("kafka_connect_worker_connector_startup_attempts_total") == 6


def test_checkpoints_are_told_by_group(watched: Watched) -> None:
    place = Checkpoint("shop", TopicPartition("A.orders", 1), 5, 5, "")
    watched.still.flow.meter.wrote_checkpoints([place], 12.0)
    watched.scrape()
    watched.still.flow.meter.wrote_checkpoints([place], 4.0)
    page = watched.scrape()
    labels = {"source": "A", "target": "B", "group": "shop", "topic": "A.orders", "partition": "1"}
    for prefix in ("checkpoint_connector", "mirrorcheckpointconnector"):
        name = f"kafka_connect_mirror_{prefix}_checkpoint_latency_ms"
        assert [page.value(name + end, **labels) for end in ("", "_avg", "_min", "_max")] == [4, 8, 4, 12]


def test_a_clock_that_is_ahead_is_seen(watched: Watched) -> None:
    assert watched.scrape().get("heliograph_record_time_ahead_seconds") is None
    watched.still.mirrored([1, 0], latency_ms=5)
    assert watched.scrape().value("heliograph_record_time_ahead_seconds") == 0
    watched.still.mirrored([1, 0], latency_ms=-30_000)
    watched.still.mirrored([1, 0], latency_ms=5)
    assert watched.scrape().value("heliograph_record_time_ahead_seconds") == 30


def test_the_number_of_series_is_bounded_and_sums_stay_right(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "metrics.partitions.max = 10\n", partitions=50)
    still = watched.still
    still.mirrored([2] * 50)
    still.lags({number: number for number in range(50)}, seconds=1.0)
    first = watched.scrape()
    assert len(first.all(_SOURCE + "record_count")) == 11
    assert first.total(_SOURCE + "record_count") == 100
    assert first.total("heliograph_partition_lag_records") == sum(range(50))
    assert {dict(labels)["partition"] for labels in first.all("heliograph_partition_lag_records")} == {
        *map(str, range(40, 50)), OTHER,
    }  # fmt: skip
    assert first.value("heliograph_partitions_left_out") == 40
    assert first.value("heliograph_partitions") == 50
    assert first.value("mirrormaker_offset_lag", topic="orders") == sum(range(50))
    still.lags({number: 50 - number for number in range(50)}, seconds=1.0)
    still.mirrored([3] * 50)
    second = watched.scrape()
    assert second.total(_SOURCE + "record_count") == 250
    fallen = [
        labels
        for labels, value in first.all(_SOURCE + "record_count").items()
        if second.all(_SOURCE + "record_count")[labels] < value
    ]
    assert fallen == []
    assert len(second.names) > 100
    per_partition = [key for key in second.samples if any(name == "partition" for name, _ in key[1])]
    assert len(per_partition) <= 35 * 11


def test_many_ask_and_one_page_is_made(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = watched.metrics._looker.look
    monkeypatch.setattr(watched.metrics._looker, "look", lambda *args: made.append(1) or real(*args))
    watched.metrics._good_until = 0
    pages: list[object] = []
    threads = [threading.Thread(target=lambda: pages.append(watched.metrics.page())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(page) for page in pages}) == 1
    assert watched.metrics.recent() is pages[0]
    watched.metrics._good_until = time.monotonic() - 1
    assert watched.metrics.recent() is None
    assert watched.metrics.page() is not pages[0]


def test_a_packed_page_holds_the_same(watched: Watched) -> None:
    page = watched.metrics.page()
    assert gzip.decompress(page.packed) == page.text


def test_the_process_and_the_build_are_told(watched: Watched) -> None:
    page = watched.scrape()
    assert page.value("process_resident_memory_bytes") > 1e6
    [labels] = page.all("heliograph_build_info")
    assert dict(labels).keys() == {"version", "python", "spark"}
