"""What Prometheus reads from a mirror that runs is what really happened."""

from __future__ import annotations

import statistics
import time
from contextlib import closing

import httpx
import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as StockPartition

from heliograph.control.connector import Connector, RunState
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.chaos.outages import bring_back
from tests.chaos.stage import copies, ends
from tests.checker import compare
from tests.deploy.expressions import TOLD_BY_OTHERS, names_in, panels, rules
from tests.deploy.live_run import LATE, ORDERS, PARTITIONS, LiveRun
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_COUNT = "kafka_connect_mirror_source_connector_record_count"
_LATENCY = "kafka_connect_mirror_source_connector_replication_latency_ms_avg"
_AGE_MS = 5_000  # of records when they are written, so that a hundredth of it can be told
_LATE_RECORDS = 40
_RATE_SECONDS = 3


def _await_level(live: LiveRun) -> None:
    live.prometheus.await_value(f'mirrormaker_offset_lag{{topic="{ORDERS}"}}', 0)


def test_counts_are_those_of_the_records_on_both_sides(live: LiveRun) -> None:
    with live.load() as load:
        wait_until(lambda: load.acknowledged >= 900, "some load", 30)
    _await_mirrored(live)
    for source, target in copies(ORDERS, f"east.{ORDERS}", PARTITIONS).items():
        count = _equal_records(live, source, target)
        series = f'{_COUNT}{{source="east",target="west",topic="{target.topic}",partition="{target.partition}"}}'
        live.prometheus.await_value(series, count, 15)
        alias = series.replace("source_connector", "mirrorsourceconnector")
        assert live.prometheus.value(alias) == count
    page = live.scrape()
    assert page.total(_COUNT) == page.value("heliograph_records_total", source="east")
    assert page.total(_COUNT.replace("record", "byte")) == page.value("heliograph_bytes_total", source="east")
    assert page.value("heliograph_transaction_records_sum") == page.value("heliograph_records_total", source="east")


def _await_mirrored(live: LiveRun) -> None:
    """Wait until the mirror has all orders, by its own account: before that there is nothing to compare."""
    driver = live.flow.driver
    assert driver is not None
    wanted = {where: end - 1 for where, end in ends(live.source, ORDERS).items()}
    wait_until(lambda: wanted.items() <= driver.mirrored_offsets().items(), "all orders mirrored", 60)


def _equal_records(live: LiveRun, source: TopicPartition, target: TopicPartition) -> int:
    """How many records both partitions hold, once they hold the same."""
    found: list[int] = []

    def is_equal() -> bool:
        report = compare(live.source.bootstrap_servers, live.target.bootstrap_servers, {source: target})
        found[:] = [report.record_count]
        return report.is_equal

    wait_until(is_equal, f"equal records of {source}", 60, 0.2)
    assert found[0] > 0
    return found[0]


def test_latency_is_what_a_consumer_of_the_target_measures(live: LiveRun) -> None:
    """Both measure from the record's own time on: to its commit, and to when a consumer has it.

    Neither can be sooner than the record is written, nor later than both are known here. On a machine at rest that is
    a hundredth of the age that the records have; on a busy one it is as long as it takes.
    """
    target = TopicPartition(f"east.{LATE}", 0)
    consumer = KafkaConsumer(
        bootstrap_servers=live.target.bootstrap_servers, isolation_level="read_committed", fetch_max_wait_ms=10
    )
    with closing(consumer):
        where = StockPartition(*target)
        consumer.assign([where])
        consumer.seek_to_beginning(where)
        measured: list[float] = []
        known: list[float] = []
        loop = Loop()
        try:
            network = Network(loop, Access("east", live.source.bootstrap_servers.split(",")))
            network.refresh([LATE])
            for number in range(_LATE_RECORDS):
                stamp = int(time.time() * 1000) - _AGE_MS
                writing.append(loop, network, TopicPartition(LATE, 0), [Record(0, stamp, b"k", b"%d" % number)])
                wait_until(lambda: _arrive(consumer, measured) > 0, f"record {number}", 30, 0)
                wait_until(lambda: _counted(live, target) > number, f"record {number} in the books", 30, 0.001)  # noqa: B023
                known.append(time.time() * 1000 - stamp)
        finally:
            loop.close()
    assert len(measured) == _LATE_RECORDS
    series = f'{_LATENCY}{{topic="{target.topic}"}}'
    live.prometheus.await_value(f'{_COUNT}{{topic="{target.topic}"}}', _LATE_RECORDS)  # by a page that has them all
    latest = statistics.mean(known)
    assert _AGE_MS <= statistics.mean(measured) <= latest
    assert _AGE_MS <= live.prometheus.value(series) <= latest
    assert _AGE_MS <= live.prometheus.value(series.replace("latency_ms_avg", "latency_ms_max")) <= max(known)


def _counted(live: LiveRun, target: TopicPartition) -> int:
    meter = live.flow.meter.partitions().get(target)
    return meter.records if meter else 0


def _arrive(consumer: KafkaConsumer, measured: list[float]) -> int:
    found = [record for items in consumer.poll(timeout_ms=20).values() for record in items]
    now = time.time() * 1000
    measured += [now - record.timestamp for record in found]
    return len(found)


def test_while_paused_lag_is_exact_and_everything_gets_older(live: LiveRun) -> None:
    _await_level(live)
    live.mirror.change_state(live.flow, Connector.SOURCE, RunState.PAUSED)
    try:
        assert live.flow.driver is not None
        assert live.flow.driver.await_rest(60)  # lanes commit what they have
        with live.load() as load:
            wait_until(lambda: load.acknowledged >= 600, "some load", 30)
        live.prometheus.await_value(f'mirrormaker_offset_lag{{topic="{ORDERS}"}}', load.acknowledged, 30)
        assert live.prometheus.value(f'sum(mirrormaker_partition_lag{{topic="{ORDERS}"}})') == load.acknowledged
        before = _badness(live)
        wait_until(
            lambda: all(now > then + _RATE_SECONDS for now, then in zip(_badness(live), before, strict=True)),
            "everything to get older", 40, 0.5,
        )  # fmt: skip
        assert live.prometheus.value('heliograph_flow_healthy{source="east"}') == 0
        assert live.prometheus.value('heliograph_flow_health{source="east",health="paused"}') == 1
        status = '{connector="MirrorSourceConnector",status="paused"}'
        assert live.prometheus.value(f"kafka_connect_connector_status{status}") == 1
    finally:
        live.mirror.change_state(live.flow, Connector.SOURCE, RunState.RUNNING)
    _await_level(live)
    live.prometheus.await_value('heliograph_flow_healthy{source="east"}', 1, 30)


def _badness(live: LiveRun) -> list[float]:
    """Numbers that must grow while nothing is mirrored, in seconds."""
    partition = f'topic="{ORDERS}",partition="0"'
    copy = f'topic="east.{ORDERS}",partition="0"'
    return [
        live.prometheus.value(expression)
        for expression in (
            'heliograph_rpo_seconds{source="east"}',
            'heliograph_lag_seconds{source="east"}',
            'heliograph_last_commit_age_seconds{source="east"}',
            f"heliograph_partition_lag_seconds{{{partition}}}",
            f"heliograph_partition_stalled_seconds{{{partition}}}",
            'mirrormaker_replication_latency_ms{source="east"} / 1000',
            f"kafka_connect_mirror_source_connector_replication_latency_ms{{{copy}}} / 1000",
            f"kafka_connect_mirror_source_connector_record_age_ms_max{{{copy}}} / 1000",
        )
    ]


def test_every_metric_of_rules_and_dashboard_is_told(live: LiveRun) -> None:
    texts = [rule["expr"] for rule in rules()]
    texts += [target["expr"] for panel in panels() for target in panel["targets"]]
    named = {name for text in texts for name in names_in(text)} - TOLD_BY_OTHERS
    named -= {"heliograph_certificate_days_left"}  # without TLS there are none
    named = {name for name in named if "conflict" not in name}  # nobody looks for them here
    wait_until(lambda: named <= live.scrape().names, f"all of {sorted(named - live.scrape().names)}", 30, 1.0)


def test_prometheus_gets_on_with_all_rules(live: LiveRun) -> None:
    wait_until(lambda: all(rule["health"] == "ok" for rule in live.prometheus.rules()), "all rules looked at", 30)
    assert len(live.prometheus.rules()) == len(rules())


def test_a_page_is_packed_for_those_who_take_it(live: LiveRun) -> None:
    plain = httpx.get(f"{live.address}/metrics", headers={"Accept-Encoding": "identity"}, timeout=30)
    packed = httpx.get(f"{live.address}/metrics", timeout=30)
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 4


def test_while_the_source_is_gone_everything_gets_older(live: LiveRun) -> None:
    _await_level(live)
    live.source.brokers[0].process.kill()
    try:
        live.prometheus.await_value('heliograph_flow_healthy{source="east"}', 0, 60)
        names = ("heliograph_rpo_seconds", "heliograph_lag_seconds", "heliograph_lag_look_age_seconds")
        least = [max(10.0, _of_flow(live, name) + _RATE_SECONDS) for name in names]
        wait_until(
            lambda: all(_of_flow(live, name) > value for name, value in zip(names, least, strict=True)),
            "a growing lag of more than 10 s, although nothing is known", 100, 0.5,
        )  # fmt: skip
        assert _of_flow(live, "mirrormaker_replication_latency_ms") > 10_000
    finally:
        bring_back(live.source)
    live.prometheus.await_value('heliograph_flow_healthy{source="east"}', 1, 120)
    assert _of_flow(live, "heliograph_rpo_seconds") < 10


def _of_flow(live: LiveRun, name: str) -> float:
    return live.prometheus.value(f'{name}{{source="east"}}')
