"""What a trickle costs: figures between two looks, and over several rounds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench.internal_topics import Kind, kind_of
from bench.log_sizes import log_sizes
from bench.measure import LatencyConsumer
from bench.trickle import CONTESTANTS, PARTITIONS, RATE, Look, Trickle, in_turn, percentile, trickling
from bench.trickle_report import FIGURES, Spread, TrickleReport
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import records
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
BEGIN = 1_700_000_000 * SECOND
OFFSETS, LEDGER = "mm2-offsets.primary.internal", "mm2-ledger.primary.internal"
STATE, SYNCS = "__transaction_state", "mm2-offset-syncs.backup.internal"


def look(seconds: float, mirror: float, broker: float, growth: int) -> Look:
    """After so many seconds, with logs that are larger by so much."""
    target = {
        TopicPartition(OFFSETS, 0): 1000 + 10 * growth,
        TopicPartition(OFFSETS, 7): 50,
        TopicPartition(LEDGER, 0): 2000 + 20 * growth,
        TopicPartition(STATE, 3): 500 + 5 * growth,
        TopicPartition("__consumer_offsets", 1): 10 + growth,
        TopicPartition("primary.trickle", 0): 9000 + 1000 * growth,
    }
    source = {TopicPartition(SYNCS, 0): 100 + 2 * growth, TopicPartition("trickle", 0): 8000 + 900 * growth}
    return Look(BEGIN + int(seconds * SECOND), mirror, broker, source, target)


@pytest.fixture
def trickle() -> Trickle:
    """100 records in 10 s, the first of which takes 1 ms, the second 2 ms, and so on; and some before and after."""
    births = [BEGIN + number * SECOND // 10 for number in range(-20, 120)]
    ages = {birth: (index - 19) * MILLISECOND for index, birth in enumerate(births)}
    arrivals = {birth: birth + max(age, MILLISECOND) for birth, age in ages.items()}
    return Trickle.between(look(0, 7.0, 3.0, 0), look(10, 11.0, 8.5, 100), births, arrivals)


def test_latency_is_that_of_records_born_between_the_looks(trickle: Trickle) -> None:
    assert (trickle.p50, trickle.p90, trickle.p99, trickle.longest) == (51.0, 91.0, 100.0, 100.0)
    assert trickle.written_per_second == 10.0
    assert trickle.arrived == 99  # the last one arrives when the second look has begun


def test_shares_are_of_the_time_between_the_looks(trickle: Trickle) -> None:
    assert trickle.mirror_share == pytest.approx(0.4)
    assert trickle.broker_share == pytest.approx(0.55)


def test_records_of_users_are_no_internal_bytes(trickle: Trickle) -> None:
    assert trickle.target_bytes == {OFFSETS: 1000, LEDGER: 2000, STATE: 500, "__consumer_offsets": 100}
    assert trickle.source_bytes == {SYNCS: 200}


def test_bytes_are_shared_among_the_records_that_arrived_between_the_looks() -> None:
    """One that was born before arrives between them, two that are born between them arrive afterwards."""
    births = [BEGIN - 1, BEGIN, BEGIN + SECOND, BEGIN + 9 * SECOND, BEGIN + 9 * SECOND + 1, BEGIN + 10 * SECOND]
    arrivals = {birth: birth + 2 * SECOND for birth in births}
    found = Trickle.between(look(0, 0, 0, 0), look(10, 1, 1, 100), births, arrivals)
    assert found.arrived == 3
    assert found.bytes_per_record(Kind.BOOKS) == 1000.0
    assert found.bytes_per_record(Kind.TRANSACTIONS) == pytest.approx(500 / 3)
    assert found.bytes_per_record(Kind.OTHER) == pytest.approx(100 / 3)
    assert found.source_bytes_per_record == pytest.approx(200 / 3)


def test_a_record_that_never_arrived_is_not_passed_over() -> None:
    with pytest.raises(KeyError):
        Trickle.between(look(0, 0, 0, 0), look(10, 1, 1, 1), [BEGIN, BEGIN + 1], {BEGIN: BEGIN + 5})


@pytest.mark.parametrize(("share", "value"), [(0.5, 3.0), (0.9, 4.0), (0.99, 4.0), (1.0, 4.0), (0.0, 1.0)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], share) == value


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("mm2-offsets.primary.internal", Kind.BOOKS),
        ("mm2-ledger.primary.internal", Kind.BOOKS),
        ("mm2-offset-map.primary.internal", Kind.BOOKS),
        ("mm2-state.primary.internal", Kind.BOOKS),
        ("mm2-journal.primary.internal", Kind.BOOKS),
        ("mm2-declarations.primary.internal", Kind.BOOKS),
        ("mm2-configs.primary.internal", Kind.BOOKS),
        ("mm2-status.primary.internal", Kind.BOOKS),
        ("mm2-offset-syncs.backup.internal", Kind.BOOKS),
        ("__transaction_state", Kind.TRANSACTIONS),
        ("__consumer_offsets", Kind.OTHER),
        ("primary.checkpoints.internal", Kind.OTHER),
        ("heartbeats", Kind.OTHER),
        ("primary.heartbeats", Kind.OTHER),
        ("primary.trickle-1-0", None),
        ("primary.mm2-offsets", None),
        ("orders.internal", None),
    ],
)
def test_internal_topics_are_told_by_their_names(topic: str, kind: Kind | None) -> None:
    assert kind_of(topic) is kind


def test_every_other_round_runs_backwards() -> None:
    assert in_turn(2) == CONTESTANTS
    assert in_turn(1) == in_turn(3) == CONTESTANTS[::-1]


def test_a_spread_has_the_median_and_both_ends() -> None:
    assert Spread.of([5.0, 1.0, 3.0]) == Spread(3.0, 1.0, 5.0)
    assert str(Spread.of([1498.4, 0.55, 20.0])) == "20.00 (0.55 to 1,498)"


def test_a_report_has_each_figure_of_each_contestant(trickle: Trickle) -> None:
    rounds = [replace(trickle, p50=p50) for p50 in (4.0, 9.0, 5.0)]
    report = TrickleReport(10, {"ours": rounds, "theirs": [trickle] * 3})
    lines = report.markdown()
    assert "| latency p50, ms | 5.00 (4.00 to 9.00) | 51.00 (51.00 to 51.00) |" in lines
    assert (
        "| internal bytes per record: ledger and positions | 30.30 (30.30 to 30.30) | 30.30 (30.30 to 30.30) |" in lines
    )
    assert report.table().row_count == len(FIGURES)
    told = json.loads(json.dumps(report.as_json()))
    assert told["figures"]["latency p50, ms"]["ours"] == {"median": 5.0, "lowest": 4.0, "highest": 9.0}
    assert [item["p50"] for item in told["rounds"]["ours"]] == [4.0, 9.0, 5.0]
    assert told["rounds"]["theirs"][0]["target_bytes"][LEDGER] == 2000


@pytest.mark.kafka
def test_records_of_the_right_size_come_at_the_rate_into_all_partitions_and_none_is_missed(
    primary: EmbeddedCluster,
) -> None:
    topic = create_topic(primary.bootstrap_servers, fresh_name("trickle"), PARTITIONS)
    consumer = LatencyConsumer(primary, topic, PARTITIONS)
    consumer.start()
    with trickling(primary, topic) as births:
        wait_until(lambda: len(births) >= 3 * PARTITIONS, "three records in each partition")
    wait_until(lambda: len(consumer.first_arrivals()) == len(births), "all of them to arrive")
    ages = consumer.stop()
    assert list(births) == sorted(consumer.first_arrivals())
    assert births[-1] - births[0] >= (len(births) - 1) * SECOND / RATE * 0.75  # after a late first one the rest hurry
    assert len(ages) == len(births)
    assert min(ages) > 0
    batch = len(records.encode([Record(0, 0, b"k" * 3, b"v" * 97)]))
    sizes = [size for where, size in log_sizes(primary).items() if where.topic == topic]
    assert len(sizes) == PARTITIONS
    assert min(sizes) >= 3 * batch
    assert sum(sizes) == len(births) * batch
