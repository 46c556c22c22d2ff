"""A flow whose records pass through SQL: what arrives, what is written down, and what kills do to it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.model import EventKind, TopicPartition
from tests.engine.tables.shop import EMAIL, Shop, number_of, order
from tests.engine.tables.sql_mirror import SqlMirror
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

twin_of_a_command = pytest.mark.long  # every change is tested for it by the command itself: flows/test_transforms.py

QUERY = r"""
SELECT
  regexp_replace(json(value), '("email":")[^"]*', '$1***') AS value,
  map_concat(map_from_entries(headers), map('masked', CAST('yes' AS BINARY))) AS headers,
  CASE get_json_object(json(value), '$.country') WHEN 'de' THEN concat(topic, '.de') ELSE topic END AS topic
FROM records
WHERE get_json_object(json(value), '$.kind') <> 'noise' OR value IS NULL
"""


@pytest.fixture
def stations(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Stations:
    """Where the clusters are."""
    return Stations.of(cluster_pair)


class Running:
    """Mirrors that are ended when the test is."""

    def __init__(self) -> None:
        self.mirrors: list[SqlMirror] = []

    def start(self, shop: Shop, sql: str) -> SqlMirror:
        """Another mirror."""
        self.mirrors.append(SqlMirror(shop.settings, sql))
        return self.mirrors[-1]


@pytest.fixture
def running() -> Iterator[Running]:
    """Starts mirrors."""
    made = Running()
    yield made
    for mirror in made.mirrors:
        mirror.kill()


def expected(shop: Shop, partition: int, country: str) -> list[int]:
    orders = [number_of(record) for record in shop.on_source(partition) if record.value]
    return [n for n in orders if n % 3 and (country == "de") == (n % 5 == 0)]


def assert_as_queried(shop: Shop) -> None:
    """Every order that the query lets pass is where it belongs, once, in order, masked; the ledger tells where."""
    places: dict[tuple[TopicPartition, int], TopicPartition] = {}
    for partition in range(shop.partitions):
        for country, topic in (("fr", shop.copy), ("de", f"{shop.copy}.de")):
            found = [record for record in shop.on_target(partition, topic) if record.value]
            assert [number_of(record) for record in found] == expected(shop, partition, country)
            assert not any(EMAIL.encode() in (record.value or b"") for record in found)
            for record in found:
                original = order(number_of(record))
                assert (record.key, record.timestamp) == (original.key, original.timestamp)
                assert sorted(record.headers) == [("masked", b"yes"), ("origin", b"shop")]
                places[TopicPartition(topic, partition), record.offset] = TopicPartition(shop.topic, partition)
    assert_ledger_is_exact(shop, set(places))


def assert_ledger_is_exact(shop: Shop, places: set[tuple[TopicPartition, int]]) -> None:
    told: set[tuple[TopicPartition, int]] = set()
    sources = {
        number: {record.offset: record for record in shop.on_source(number)} for number in range(shop.partitions)
    }
    targets: dict[TopicPartition, dict[int, Record]] = {}
    for entry in shop.entries():
        for progress in entry.partitions:
            where = progress.target
            if where not in targets:
                targets[where] = {record.offset: record for record in shop.on_target(where.partition, where.topic)}
            for run in progress.runs:
                for step in range(run.length):
                    original = sources[progress.source.partition][run.source + step]
                    mirrored = targets[where][run.target + step]
                    assert original.key == mirrored.key
                    told.add((where, run.target + step))
    assert places <= told


@twin_of_a_command
def test_a_query_masks_filters_routes_and_tags(stations: Stations, tmp_path: Path, running: Running) -> None:
    shop = Shop(stations, tmp_path)
    for _ in range(10):
        shop.send_orders(30)
    mirror = running.start(shop, QUERY)
    shop.await_all()
    shop.send_orders(100)
    shop.send([order(999)], 0)  # noise: a tail that is left out holds no position back
    shop.await_all()
    assert_as_queried(shop)
    read = sum(len(shop.on_source(number)) for number in range(shop.partitions))
    progress = [item for entry in shop.entries() for item in entry.partitions]
    assert sum(item.record_count + item.dropped for item in progress) == read
    assert len(shop.on_target(1, f"{shop.copy}.de")) > 0
    assert mirror.stop() == 0


def test_an_idle_flow_writes_nothing_and_new_records_arrive_soon(
    stations: Stations, tmp_path: Path, running: Running
) -> None:
    shop = Shop(stations, tmp_path)
    shop.send_orders(10)
    mirror = running.start(shop, "SELECT * FROM records")
    shop.await_all()
    before = len(shop.entries())
    threading.Event().wait(1.5)
    assert len(shop.entries()) == before
    shop.send_orders(10)
    shop.await_all(5)
    assert [record.value for record in shop.on_target(0)] == [record.value for record in shop.on_source(0)]
    assert mirror.stop() == 0


@twin_of_a_command
def test_a_record_that_the_query_cannot_read_becomes_a_dead_letter(
    stations: Stations, tmp_path: Path, running: Running
) -> None:
    """A value that a function made NULL is no tombstone; a real tombstone passes."""
    shop = Shop(stations, tmp_path, partitions=1)
    bad = Record(0, 5, b"bad", b"no json: " + EMAIL.encode())
    shop.send([order(1), bad, Record(0, 6, b"gone", None), order(2)], 0)
    mirror = running.start(shop, "SELECT mask_json(value, 'email') AS value FROM records")
    shop.await_all()
    assert [record.key for record in shop.on_target(0)] == [b"key-1", b"gone", b"key-2"]
    assert all(EMAIL.encode() not in (record.value or b"") for record in shop.on_target(0))
    [letter] = shop.letters()
    headers = dict(letter.headers)
    assert (letter.key, letter.value) == (None, None)  # it may hold what the query was to hide
    assert headers["__connect.errors.topic"] == shop.topic.encode()
    assert headers["__connect.errors.offset"] == b"1"
    events = [event for entry in shop.entries() for event in entry.events]
    assert [(event.kind, event.from_offset) for event in events] == [(EventKind.DEAD_LETTERS, 1)]
    assert mirror.stop() == 0


def test_heartbeats_pass_by_the_query(stations: Stations, tmp_path: Path, running: Running) -> None:
    shop = Shop(stations, tmp_path, partitions=1, with_heartbeats=True)
    create_topic(stations.source, shop.heartbeats)
    beats = [Record(0, number, b"beat", b"no json") for number in range(3)]
    raw.append(stations.source, TopicPartition(shop.heartbeats, 0), [raw.batch_of(beats)])
    shop.send([order(1)], 0)
    mirror = running.start(shop, "SELECT mask_json(value, 'email') AS value FROM records")
    copy = shop.copy.replace(shop.topic, shop.heartbeats)
    wait_until(lambda: len(shop.on_target(0, copy)) == 3, "the heartbeats", 60)
    shop.await_all()
    assert [record[1:4] for record in shop.on_target(0, copy)] == [record[1:4] for record in beats]
    assert shop.letters() == []
    assert mirror.stop() == 0
    shop.forget(shop.heartbeats, copy)  # other tests mirror all heartbeats


@twin_of_a_command
def test_with_tolerance_none_a_bad_record_stops_its_partition_and_no_other(
    stations: Stations, tmp_path: Path, running: Running
) -> None:
    shop = Shop(stations, tmp_path, more="errors.tolerance = none")
    shop.send([order(1), Record(0, 5, b"bad", b"no json"), order(2)], 0)
    shop.send([order(3)], 1)
    mirror = running.start(shop, "SELECT mask_json(value, 'email') AS value FROM records")
    wait_until(lambda: len(shop.on_target(0)) == 1 and len(shop.on_target(1)) == 1, "both partitions", 60)
    shop.send([order(4)], 1)
    wait_until(lambda: len(shop.on_target(1)) == 2, "the other partition to go on", 20)
    assert [record.key for record in shop.on_target(0)] == [b"key-1"]
    assert shop.positions()[TopicPartition(shop.topic, 0)].offset == 0
    [event] = [event for entry in shop.entries() for event in entry.events]
    assert event.kind is EventKind.SET_ASIDE
    assert "offset 1 cannot be transformed" in event.reason
    assert mirror.stop() == 0


@twin_of_a_command
def test_a_query_that_cannot_be_used_ends_the_flow_and_says_why(
    stations: Stations, tmp_path: Path, running: Running
) -> None:
    shop = Shop(stations, tmp_path)
    mirror = running.start(shop, "SELECT count(*) AS value FROM records")
    assert mirror.wait() == 1
    assert "transform.sql: Aggregate groups records" in mirror.log.read_text()


def test_a_query_that_throws_is_told_and_loses_nothing(stations: Stations, tmp_path: Path, running: Running) -> None:
    shop = Shop(stations, tmp_path, partitions=1)
    shop.send([order(1), order(2)], 0)
    mirror = running.start(shop, "SELECT CAST(raise_error('no such thing') AS STRING) AS value FROM records")
    wait_until(lambda: "no such thing" in mirror.log.read_text(), "the failure to be told", 60)
    mirror.kill()
    assert shop.positions() == {}
    mirror = running.start(shop, "SELECT * FROM records")
    shop.await_all()
    assert [record.key for record in shop.on_target(0)] == [b"key-1", b"key-2"]
    assert mirror.stop() == 0


@pytest.mark.chaos
def test_whatever_is_killed_nothing_is_lost_repeated_or_unmasked(
    stations: Stations, tmp_path: Path, running: Running
) -> None:
    """At every step of a commit, at random moments, and the whole mirror at once, while records keep coming."""
    shop = Shop(stations, tmp_path)
    stop = threading.Event()

    def produce() -> None:
        while not stop.wait(0.05):
            shop.send_orders(40)

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        mirror = running.start(shop, QUERY)
        for point in ("started", "fenced", "data-written", "bookkeeping-written", "committed"):
            mirror.die_at(point)
        _kill_some_workers(mirror, 6)
        mirror.kill()
        mirror = running.start(shop, QUERY)
        mirror.die_at("committed")
        _kill_some_workers(mirror, 3)
    finally:
        stop.set()
        producer.join()
    shop.await_all()
    assert_as_queried(shop)
    assert sum(len(shop.on_source(number)) for number in range(shop.partitions)) > 1000
    assert mirror.stop() == 0


def _kill_some_workers(mirror: SqlMirror, times: int) -> None:
    chance = random.Random(7)
    for _ in range(times):
        threading.Event().wait(chance.uniform(0.05, 0.6))
        workers = mirror.workers()
        if workers:
            with suppress(psutil.NoSuchProcess):
                chance.choice(workers).kill()
