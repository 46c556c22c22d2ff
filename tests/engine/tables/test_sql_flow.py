"""A flow whose records pass through SQL: what arrives, what is written down, and what kills do to it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.model import EventKind, Position, TopicPartition
from tests.chaos.strikes import kill
from tests.engine.tables.shop import EMAIL, Shop, number_of, order
from tests.engine.tables.sql_mirror import ENDED, SqlMirror
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

QUERY = r"""
SELECT
  regexp_replace(json(value), '("email":")[^"]*', '$1***') AS value,
  map_concat(map_from_entries(headers), map('masked', CAST('yes' AS BINARY))) AS headers,
  CASE get_json_object(json(value), '$.country') WHEN 'de' THEN concat(topic, '.de') ELSE topic END AS topic
FROM records
WHERE get_json_object(json(value), '$.kind') <> 'noise' OR value IS NULL
"""


MASK = "SELECT mask_json(value, 'email') AS value FROM records"
EVERYTHING = "SELECT * FROM records"
THROWS = "SELECT CAST(raise_error('no such thing') AS STRING) AS value FROM records"
GROUPS = "SELECT count(*) AS value FROM records"
BEATS = [Record(0, number, b"beat", b"no json") for number in range(3)]
POINTS = ("started", "fenced", "data-written", "bookkeeping-written", "committed")
BAD = Record(0, 5, b"bad", b"no json: " + EMAIL.encode(), [("secret", b"hidden")])
START_SECONDS = 240.0  # for all flows of a mirror to begin on a busy machine


@pytest.fixture(scope="module")
def stations(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Stations:
    """Where the clusters are."""
    return Stations.of(cluster_pair)


MakeShop = Callable[..., Shop]


@pytest.fixture(scope="module")
def make_shop(stations: Stations, tmp_path_factory: pytest.TempPathFactory) -> MakeShop:
    """Shops, each with a flow and a folder of its own."""
    return lambda **options: Shop(stations, tmp_path_factory.mktemp("shop"), **options)


@contextmanager
def mirroring(folder: Path, queries: Mapping[Shop, str]) -> Iterator[SqlMirror]:
    """One process for flows of several shops, killed at the end if it still runs."""
    mirror = SqlMirror(folder, {shop.settings: sql for shop, sql in queries.items()})
    try:
        mirror.await_start()
        yield mirror
    finally:
        mirror.kill()


@dataclass(frozen=True)
class Refusal:
    """What became of a mirror with a query that throws for every record, and one that cannot be used."""

    throwing: Shop
    log: str
    exit_code: int
    positions: dict[TopicPartition, Position]  # of the shop whose query throws


@pytest.fixture(scope="module")
def refusal(make_shop: MakeShop, tmp_path_factory: pytest.TempPathFactory) -> Refusal:
    """Both flows have told what is wrong with them, and the mirror is stopped."""
    throwing, unusable = make_shop(partitions=1), make_shop()
    throwing.send([order(1), order(2)], 0)
    with mirroring(tmp_path_factory.mktemp("refusal"), {throwing: THROWS, unusable: GROUPS}) as mirror:
        wanted = ("no such thing", ENDED.format(unusable.flow_name))
        wait_until(lambda: all(text in mirror.log.read_text() for text in wanted), "both failures to be told", 60)
        exit_code = mirror.stop()
        return Refusal(throwing, mirror.log.read_text(), exit_code, throwing.positions())


@dataclass(frozen=True)
class Market:
    """Shops whose flows are mirrored by one process, each with a query of its own."""

    mirror: SqlMirror
    orders: Shop
    plain: Shop  # the query of the mirror before threw
    strict: Shop
    masked: Shop  # with heartbeats
    shown: Shop  # with all of what failed in its dead letters


@pytest.fixture(scope="module")
def market(
    make_shop: MakeShop, refusal: Refusal, stations: Stations, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Market]:
    """What was there before the mirror started has arrived, but for what may not."""
    orders, strict = make_shop(), make_shop(more="errors.tolerance = none")
    for _ in range(10):
        orders.send_orders(30)
    strict.send([order(1), Record(0, 5, b"bad", b"no json"), order(2)], 0)
    strict.send([order(3)], 1)
    masked = make_shop(partitions=1, with_heartbeats=True)
    create_topic(stations.source, masked.heartbeats)
    raw.append(stations.source, TopicPartition(masked.heartbeats, 0), [raw.batch_of(BEATS)])
    shown = make_shop(partitions=1, more="errors.deadletterqueue.content = full")
    for shop in (masked, shown):
        shop.send([order(1), BAD, Record(0, 6, b"gone", None), order(2)], 0)
    queries = {orders: QUERY, refusal.throwing: EVERYTHING, **dict.fromkeys((strict, masked, shown), MASK)}
    with mirroring(tmp_path_factory.mktemp("market"), queries) as mirror:
        for shop in (orders, refusal.throwing, masked, shown):
            shop.await_all(START_SECONDS)
        yield Market(mirror, orders, refusal.throwing, strict, masked, shown)
    masked.forget(masked.heartbeats, masked.copy_of_heartbeats)  # other tests mirror all heartbeats


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


# -- one mirror, many flows --------------------------------------------------------------------------------------------


def test_a_query_masks_filters_routes_and_tags(market: Market) -> None:
    shop = market.orders
    shop.await_all()
    shop.send_orders(100)
    shop.send([order(999)], 0)  # noise: a tail that is left out holds no position back
    shop.await_all()
    assert_as_queried(shop)
    read = sum(len(shop.on_source(number)) for number in range(shop.partitions))
    progress = [item for entry in shop.entries() for item in entry.partitions]
    assert sum(item.record_count + item.dropped for item in progress) == read
    assert len(shop.on_target(1, f"{shop.copy}.de")) > 0


def only_letter(shop: Shop) -> Record:
    """The one dead letter of a shop, after a look at everything else: a real tombstone passes, what failed does not."""
    shop.await_all()
    assert [record.key for record in shop.on_target(0)] == [b"key-1", b"gone", b"key-2"]
    assert all(EMAIL.encode() not in (record.value or b"") for record in shop.on_target(0))
    [letter] = shop.letters()
    headers = dict(letter.headers)
    assert headers["__connect.errors.topic"] == shop.topic.encode()
    assert headers["__connect.errors.offset"] == b"1"
    events = [event for entry in shop.entries() for event in entry.events]
    assert [(event.kind, event.from_offset) for event in events] == [(EventKind.DEAD_LETTERS, 1)]
    return letter


def test_a_record_that_the_query_cannot_read_becomes_a_dead_letter(market: Market) -> None:
    """A value that a function made NULL is no tombstone. Other contents: `test_transforming_lane.py`."""
    letter = only_letter(market.masked)
    assert (letter.key, letter.value) == (None, None)  # it may hold what the query was to hide
    assert all(name.startswith("__connect.errors.") for name, _ in letter.headers)
    assert not any(secret in repr(letter) for secret in (EMAIL, "no json", "hidden"))


def test_a_dead_letter_has_the_whole_record_where_the_file_says_so(market: Market) -> None:
    letter = only_letter(market.shown)
    causes = [header for header in letter.headers if header[0].startswith("__connect.errors.")]
    assert (letter.key, letter.value, letter.headers) == (BAD.key, BAD.value, [*BAD.headers, *causes])


def test_heartbeats_pass_by_the_query(market: Market) -> None:
    """They are no JSON, and none of them is a dead letter."""
    shop = market.masked
    copy = shop.copy_of_heartbeats
    wait_until(lambda: len(shop.on_target(0, copy)) == 3, "the heartbeats", 60)
    assert [record[1:4] for record in shop.on_target(0, copy)] == [record[1:4] for record in BEATS]
    assert [dict(letter.headers)["__connect.errors.topic"] for letter in shop.letters()] == [shop.topic.encode()]


def test_with_tolerance_none_a_bad_record_stops_its_partition_and_no_other(market: Market) -> None:
    shop = market.strict
    wait_until(lambda: len(shop.on_target(0)) == 1 and len(shop.on_target(1)) == 1, "both partitions", 60)
    shop.send([order(4)], 1)
    wait_until(lambda: len(shop.on_target(1)) == 2, "the other partition to go on", 20)
    assert [record.key for record in shop.on_target(0)] == [b"key-1"]
    assert shop.positions()[TopicPartition(shop.topic, 0)].offset == 0
    [event] = [event for entry in shop.entries() for event in entry.events]
    assert event.kind is EventKind.SET_ASIDE
    assert "offset 1 cannot be transformed" in event.reason


def test_a_query_that_cannot_be_used_ends_the_flow_and_says_why(refusal: Refusal) -> None:
    """It had ended while another flow went on, and so told in the exit code."""
    assert "transform.sql: Aggregate groups records" in refusal.log
    assert refusal.exit_code == 1


def test_a_query_that_throws_is_told_and_loses_nothing(refusal: Refusal, market: Market) -> None:
    """The mirror after the one that threw has a query that does not."""
    shop = market.plain
    assert "no such thing" in refusal.log
    assert refusal.positions == {}
    shop.await_all()
    assert [record.key for record in shop.on_target(0)][:2] == [b"key-1", b"key-2"]
    assert [record.key for record in shop.on_target(0)] == [record.key for record in shop.on_source(0)]


def test_an_idle_flow_writes_nothing_and_new_records_arrive_soon(market: Market) -> None:
    shop = market.plain
    shop.await_all()
    before = len(shop.entries())
    threading.Event().wait(1.5)
    assert len(shop.entries()) == before
    shop.send_orders(10)
    shop.await_all(5)
    assert [record.value for record in shop.on_target(0)] == [record.value for record in shop.on_source(0)]


def test_a_mirror_of_many_flows_ends_in_good_order(market: Market) -> None:
    """Also with a partition that was set aside. No test may use the market after this one."""
    assert market.mirror.stop() == 0


# -- kills -------------------------------------------------------------------------------------------------------------


@pytest.mark.chaos
def test_whatever_is_killed_nothing_is_lost_repeated_or_unmasked(
    make_shop: MakeShop, tmp_path: Path, chance: random.Random, tell: Callable[[str], None]
) -> None:
    """At every step of a commit, at random moments, and the whole mirror at once, while records keep coming."""
    shop = make_shop()
    with ExitStack() as on_exit:
        with producing(shop):
            mirror = on_exit.enter_context(mirroring(tmp_path, {shop: QUERY}))
            for point in POINTS:
                mirror.die_at(point)
            hits = _kill_some_workers(mirror, 6, chance)
            mirror.kill()
            mirror = on_exit.enter_context(mirroring(tmp_path, {shop: QUERY}))
            mirror.die_at("committed")
            hits += _kill_some_workers(mirror, 3, chance)
        tell(f"{hits} workers killed at random")
        assert hits == 9
        shop.await_all()
        assert_as_queried(shop)
        assert sum(len(shop.on_source(number)) for number in range(shop.partitions)) > 1000
        assert mirror.stop() == 0


@contextmanager
def producing(shop: Shop) -> Iterator[None]:
    """Orders keep coming."""
    stop = threading.Event()

    def produce() -> None:
        while not stop.wait(0.05):
            shop.send_orders(40)

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        yield
    finally:
        stop.set()
        producer.join()


def _kill_some_workers(mirror: SqlMirror, times: int, chance: random.Random) -> int:
    """Kill living workers at random moments; returns how many were seen to go."""
    hits = 0
    for _ in range(times):
        threading.Event().wait(chance.uniform(0.05, 0.6))
        kill(lambda: mirror.worker(chance))
        hits += 1
    return hits
