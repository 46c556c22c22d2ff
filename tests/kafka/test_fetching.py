from __future__ import annotations

from uuid import UUID

import pytest
from kafka.protocol.consumer import FetchRequest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import batches, fetching
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchResult, FetchSession
from heliograph.kafka.patience import Patience
from heliograph.kafka.records import decode
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction

VERSIONS = range(fetching.LOWEST_VERSION, fetching.HIGHEST_VERSION + 1)
TOPIC_ID = UUID(int=2**100 + 17)
Topic = FetchRequest.FetchTopic
Part = Topic.FetchPartition
SESSION_NOT_FOUND, WRONG_EPOCH = 70, 71


def point(partition: int, offset: int = 5) -> FetchPoint:
    return FetchPoint("orders", TOPIC_ID, partition, offset, leader_epoch=3, last_fetched_epoch=2)


def request(version: int, session_epoch: int, partitions: list[int]) -> bytes:
    parts = [
        Part(
            partition=number, current_leader_epoch=3, fetch_offset=5, last_fetched_epoch=2,
            log_start_offset=-1, partition_max_bytes=1000,
        )
        for number in partitions
    ]  # fmt: skip
    name = {"topic": "orders"} if version < 13 else {"topic_id": TOPIC_ID}
    written = FetchRequest(
        max_wait_ms=10, min_bytes=2, max_bytes=3000, isolation_level=1, session_id=0, session_epoch=session_epoch,
        topics=[Topic(partitions=parts, **name)] if parts else [], rack_id="r1",
    )  # fmt: skip
    return bytes(written.encode(version=version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_askedhas_the_bytes_of_the_client_library(version: int) -> None:
    session = FetchSession(version, FetchLimits(10, 2, 3000, 1000, rack="r1"))
    session.add(point(7))
    assert session.encode() == request(version, 0, [7])


def test_a_askedcan_leave_the_rack_out() -> None:
    session = FetchSession(fetching.HIGHEST_VERSION, FetchLimits(rack="r1"))
    racks = []
    for session.prefers_rack in (True, False):
        racks.append(FetchRequest.decode(session.encode(), version=fetching.HIGHEST_VERSION).rack_id)
    assert racks == ["r1", ""]


def test_a_partition_that_was_removed_is_not_named_because_it_moved() -> None:
    session = FetchSession(fetching.HIGHEST_VERSION, FetchLimits())
    removed, kept = point(1), point(2)
    session.add(removed)
    session.add(kept)
    session.remove(removed)
    session.moved(removed)
    assert named_in(session.version, session.encode()) == {2: 5}
    assert session.points == [kept]


def forgotten_of(version: int, body: bytes) -> list[int]:
    decoded = FetchRequest.decode(body, version=version)
    return sorted(number for topic in decoded.forgotten_topics_data for number in topic.partitions)


def named_in(version: int, body: bytes) -> dict[int, int]:
    """Partitions and offsets that a request names."""
    decoded = FetchRequest.decode(body, version=version)
    return {part.partition: part.fetch_offset for topic in decoded.topics for part in topic.partitions}


class Wire:
    """One fetch session with a real broker; shows what each request named and what each answer brought."""

    def __init__(self, connected: raw.Connected, topic: str, version: int) -> None:
        loop, network = connected
        self.points = [FetchPoint(topic, network.topic_id(topic), number, 0) for number in range(3)]
        self.fetcher = raw.Fetcher(loop, network, *self.points)
        self.fetcher.session = FetchSession(version, FetchLimits(max_wait_ms=50))
        for point in self.points:
            self.fetcher.session.add(point)
        self.error_code = 0
        self.asked: dict[int, int] = {}
        self.forgotten: list[int] = []

    def fetch(self) -> dict[int, list[bytes | None]]:
        """One request; the values that came back, by partition. Positions move past them."""
        session = self.fetcher.session
        encode = session.encode

        def watched() -> bytes:
            body = encode()
            self.asked, self.forgotten = named_in(session.version, body), forgotten_of(session.version, body)
            return body

        session.encode = watched  # type: ignore[method-assign]
        result = self.fetcher.fetch()
        session.encode = encode  # type: ignore[method-assign]
        self.error_code = result.error_code
        return {item.point.partition: self._take(item) for item in result.partitions}

    def _take(self, item: fetching.Fetched) -> list[bytes | None]:
        assert item.error_code == 0
        found = [record for magic, batch in batches.split(item.records) for record in decode(magic, batch)]
        if found:
            item.point.offset = found[-1].offset + 1
            self.fetcher.session.moved(item.point)
        return [record.value for record in found]


@pytest.mark.kafka
class TestAgainstABroker:
    @pytest.fixture(params=[fetching.LOWEST_VERSION, fetching.HIGHEST_VERSION])
    def version(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)

    @pytest.fixture
    def topic(self, primary: EmbeddedCluster) -> str:
        return create_topic(primary.bootstrap_servers, fresh_name("fetching"), partitions=3)

    @staticmethod
    def write(primary: EmbeddedCluster, topic: str, partition: int, number: int) -> bytes:
        [record] = numbered(1, number)
        raw.append(primary.bootstrap_servers, TopicPartition(topic, partition), [raw.batch_of([record])])
        assert record.value is not None
        return record.value

    def test_the_first_askednames_all_and_later_ones_only_what_changed(
        self, primary: EmbeddedCluster, topic: str, version: int
    ) -> None:
        with raw.network(primary.bootstrap_servers, topic) as connected:
            wire = Wire(connected, topic, version)
            assert wire.fetch() == {0: [], 1: [], 2: []}
            assert wire.asked == {0: 0, 1: 0, 2: 0}
            value = self.write(primary, topic, 1, 10)
            assert wire.fetch() == {1: [value]}
            assert wire.asked == {}
            later = self.write(primary, topic, 1, 11)
            assert wire.fetch() == {1: [later]}
            assert wire.asked == {1: 1}

    def test_a_removed_partition_is_forgotten_by_the_broker(
        self, primary: EmbeddedCluster, topic: str, version: int
    ) -> None:
        with raw.network(primary.bootstrap_servers, topic) as connected:
            wire = Wire(connected, topic, version)
            wire.fetch()
            wire.fetcher.session.remove(wire.points[2])
            assert len(wire.fetcher.session) == 2
            self.write(primary, topic, 2, 20)
            value = self.write(primary, topic, 0, 21)
            assert wire.fetch() == {0: [value]}
            assert wire.forgotten == [2]
            wire.fetch()
            assert wire.forgotten == []

    def test_a_partition_that_is_removed_and_added_again_is_read(
        self, primary: EmbeddedCluster, topic: str, version: int
    ) -> None:
        with raw.network(primary.bootstrap_servers, topic) as connected:
            wire = Wire(connected, topic, version)
            wire.fetch()
            wire.fetcher.session.remove(wire.points[2])
            wire.fetcher.session.add(wire.points[2])
            value = self.write(primary, topic, 2, 30)
            assert wire.fetch() == {2: [value]}

    @pytest.mark.parametrize(
        ("field", "wrong", "error_code"),
        [("_session_id", 1, SESSION_NOT_FOUND), ("_session_epoch", 999, WRONG_EPOCH)],
    )
    def test_a_lost_session_is_begun_anew_with_all_partitions(
        self, primary: EmbeddedCluster, topic: str, version: int, field: str, wrong: int, error_code: int
    ) -> None:
        with raw.network(primary.bootstrap_servers, topic) as connected:
            wire = Wire(connected, topic, version)
            value = self.write(primary, topic, 0, 40)
            assert wire.fetch()[0] == [value]
            setattr(wire.fetcher.session, field, wrong)
            assert wire.fetch() == {}
            assert wire.error_code == error_code
            later = self.write(primary, topic, 0, 41)
            assert wire.fetch()[0] == [later]
            assert wire.asked == {0: 1, 1: 0, 2: 0}

    def test_an_answer_tells_ends_and_aborted_transactions(self, primary: EmbeddedCluster, topic: str) -> None:
        where = TopicPartition(topic, 0)
        with raw.network(primary.bootstrap_servers, topic) as connected:
            aborted = RawTransaction(connected, f"aborted-{topic}", where)
            aborted.write(3, 0)
            aborted.end(commit=False)
            beginning = FetchPoint(topic, connected[1].topic_id(topic), 0, 0)
            self.await_marker(connected, beginning)
            left_open = RawTransaction(connected, f"open-{topic}", where)
            left_open.write(2, 3)
            [fetched] = raw.Fetcher(*connected, beginning).fetch().partitions
            left_open.end(commit=False)
        assert fetched.aborted == [(aborted.stamp.producer_id, 0)]
        assert (fetched.high_watermark, fetched.last_stable_offset, fetched.log_start_offset) == (6, 4, 0)
        headers = [batches.read_header(batch) for _, batch in batches.split(fetched.records)]
        assert headers[0].base_offset == 0
        assert all(header.last_offset < fetched.last_stable_offset for header in headers)
        assert fetched.diverging is None

    @staticmethod
    def await_marker(connected: raw.Connected, point: FetchPoint) -> None:
        """Wait for the end of a transaction in the log, which the broker writes after it has answered."""
        patience = Patience()
        while not raw.Fetcher(*connected, point).fetch().partitions[0].last_stable_offset:
            assert patience.wait(), "the transaction never ended"

    def test_a_wrong_epoch_is_answered_with_where_the_logs_part(self, primary: EmbeddedCluster, topic: str) -> None:
        self.write(primary, topic, 0, 0)
        with raw.network(primary.bootstrap_servers, topic) as (loop, network):
            epoch = network.leader(topic, 0).epoch
            ahead = FetchPoint(topic, network.topic_id(topic), 0, 50, epoch, last_fetched_epoch=epoch)
            [fetched] = raw.Fetcher(loop, network, ahead).fetch().partitions
        assert fetched.diverging == (epoch, 1)


# -- clusters without ids of topics ------------------------------------------------------------------------------------


def counts_of(result: FetchResult) -> dict[str, int]:
    """By topic, how many records an answer brought."""
    return {
        item.point.topic: sum(batches.record_count(batch) for _, batch in batches.split(item.records))
        for item in result.partitions
        if item.records
    }


@pytest.fixture
def two_topics(primary: EmbeddedCluster) -> list[str]:
    names = [create_topic(primary.bootstrap_servers, fresh_name("nameless")) for _ in range(2)]
    for name in names:
        raw.append(primary.bootstrap_servers, TopicPartition(name, 0), [raw.batch_of(numbered(1))])
    return names


@pytest.mark.kafka
def test_topics_that_have_no_ids_are_asked_for_by_their_names(primary: EmbeddedCluster, two_topics: list[str]) -> None:
    with raw.network(primary.bootstrap_servers, *two_topics) as (loop, network):
        points = [FetchPoint(name, UUID(int=0), 0, 0) for name in two_topics]
        fetcher = raw.Fetcher(loop, network, *points)
        assert fetcher.session.points == points
        result = fetcher.fetch()
        assert [item.error_code for item in result.partitions] == [0, 0]
        assert counts_of(result) == dict.fromkeys(two_topics, 1)


@pytest.mark.kafka
def test_an_answer_that_was_asked_for_by_ids_counts_when_names_have_become_needed(
    primary: EmbeddedCluster, two_topics: list[str]
) -> None:
    one, other = two_topics
    with raw.network(primary.bootstrap_servers, *two_topics) as (loop, network):
        point = FetchPoint(one, network.topic_id(one), 0, 0)
        fetcher = raw.Fetcher(loop, network, point)
        session, results = fetcher.session, list[FetchResult]()
        asked = (fetching.API_KEY, session.version, True, [session.encode()])
        fetcher.connection.send(*asked, lambda body: results.append(session.decode(body)))
        session.add(FetchPoint(other, UUID(int=0), 0, 0))
        loop.run_until(lambda: bool(results))
        assert counts_of(results[0]) == {one: 1}
        point.offset = 1
        session.moved(point)
        assert counts_of(fetcher.fetch()) == {other: 1}
