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
from tests.chaos.stage import copies
from tests.checker import compare
from tests.deploy.expressions import TOLD_BY_OTHERS, names_in, panels, rules
from tests.deploy.live_run import LATE, ORDERS, PARTITIONS, LiveRun
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_COUNT = "kafka_connect_mirror_source_connector_record_count"
_LATENCY = "kafka_connect_mirror_source_connector_replication_latency_ms_avg"
_AGE_MS = 5_000  # of records when they are written, so that a hundredth of it can be told
_RATE_SECONDS = 3


def _await_level(live: LiveRun) -> None:
    live.prometheus.await_value(f'mirrormaker_offset_lag{{topic="{ORDERS}"}}', 0)


def test_counts_are_those_of_the_records_on_both_sides(live: LiveRun) -> None:
    with live.load() as load:
        wait_until(lambda: load.acknowledged >= 900, "some load", 30)
    for source, target in copies(ORDERS, f"east.{ORDERS}", PARTITIONS).items():

        def report(source: TopicPartition = source, target: TopicPartition = target) -> int:
            found = compare(live.source.bootstrap_servers, live.target.bootstrap_servers, {source: target})
            return found.record_count if found.is_equal else -1

        wait_until(lambda report=report: report() > 0, f"equal records of {source}", 60)  # type: ignore[misc]
        series = f'{_COUNT}{{source="east",target="west",topic="{target.topic}",partition="{target.partition}"}}'
        live.prometheus.await_value(series, report(), 15)
        alias = series.replace("source_connector", "mirrorsourceconnector")
        assert live.prometheus.value(alias) == report()
    page = live.scrape()
    assert page.total(_COUNT) == page.value("heliograph_records_total", source="east")
    assert page.total(_COUNT.replace("record", "byte")) == page.value("heliograph_bytes_total", source="east")
    assert page.value("heliograph_transaction_records_sum") == page.value("heliograph_records_total", source="east")


def test_latency_is_what_a_consumer_of_the_target_measures(live: LiveRun) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=live.target.bootstrap_servers, isolation_level="read_committed", fetch_max_wait_ms=10
    )
    with closing(consumer):
        where = StockPartition(f"east.{LATE}", 0)
        consumer.assign([where])
        consumer.seek_to_beginning(where)
        measured: list[float] = []
        loop = Loop()
        try:
            network = Network(loop, Access("east", live.source.bootstrap_servers.split(",")))
            network.refresh([LATE])
            for number in range(40):
                stamp = int(time.time() * 1000) - _AGE_MS
                writing.append(loop, network, TopicPartition(LATE, 0), [Record(0, stamp, b"k", b"%d" % number)])
                wait_until(lambda: _arrive(consumer, measured) > 0, f"record {number}", 30, 0)
        finally:
            loop.close()
    assert len(measured) == 40
    series = f'{_LATENCY}{{topic="east.{LATE}"}}'
    wait_until(lambda: bool(live.prometheus.query(series)), series, 10)
    time.sleep(_RATE_SECONDS)  # until a page was made and scraped after the last record
    assert live.prometheus.value(series) == pytest.approx(statistics.mean(measured), rel=0.02)
    assert live.prometheus.value(series.replace("latency_ms_avg", "latency_ms_max")) >= _AGE_MS


def _arrive(consumer: KafkaConsumer, measured: list[float]) -> int:
    found = [record for items in consumer.poll(timeout_ms=20).values() for record in items]
    now = time.time() * 1000
    measured += [now - record.timestamp for record in found]
    return len(found)


def test_while_paused_lag_is_exact_and_everything_gets_older(live: LiveRun) -> None:
    _await_level(live)
    live.mirror.change_state(live.flow, Connector.SOURCE, RunState.PAUSED)
    try:
        time.sleep(2)  # lanes commit what they have
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
    plain = httpx.get(f"{live.address}/metrics", headers={"Accept-Encoding": "identity"})
    packed = httpx.get(f"{live.address}/metrics")
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
        wait_until(lambda: min(_of_flow(live, name) for name in names) > 10, "a lag although nothing is known", 60, 0.5)
        before = [_of_flow(live, name) for name in names]
        wait_until(
            lambda: all(_of_flow(live, name) > then + _RATE_SECONDS for name, then in zip(names, before, strict=True)),
            "a growing lag", 40, 0.5,
        )  # fmt: skip
        assert _of_flow(live, "mirrormaker_replication_latency_ms") > 10_000
    finally:
        bring_back(live.source)
    live.prometheus.await_value('heliograph_flow_healthy{source="east"}', 1, 120)
    assert _of_flow(live, "heliograph_rpo_seconds") < 10


def _of_flow(live: LiveRun, name: str) -> float:
    return live.prometheus.value(f'{name}{{source="east"}}')
