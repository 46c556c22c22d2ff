"""Waiting for producers of the source to stop, and saying who does not."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerUnavailable, StillWriting
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import OpenTransaction
from heliograph.model import TopicPartition
from heliograph.recovery.producers.watch import ProducerWatch, Writing
from tests.recovery.writers import writing
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction


def test_what_goes_on_is_said_in_one_line() -> None:
    unfinished = (TopicPartition("pay", 0), TopicPartition("pay", 1), TopicPartition("bill", 0))
    known = (OpenTransaction("pay", 0, 7, "payer"), OpenTransaction("pay", 1, 8))
    found = Writing({"a": 1.2, "b": 30.0}, unfinished, known)
    assert str(found) == (
        "still growing: b (30 records/s), a (1 records/s); "
        "open transactions: payer in pay-0, producer 8 in pay-1, somebody in bill-0"
    )
    assert found.topics == ["a", "b", "bill", "pay"]
    assert str(Writing({f"t{number}": 1.0 for number in range(7)})).endswith("t4 (1 records/s) and 2 more")
    assert str(Writing(quiet_seconds=2)) == "quiet for 2.0 s"


@pytest.fixture
def source(primary: EmbeddedCluster) -> Iterator[Admin]:
    with Admin(Access("a", primary.bootstrap_servers.split(","))) as admin:
        yield admin


@pytest.fixture
def where(primary: EmbeddedCluster) -> TopicPartition:
    return TopicPartition(create_topic(primary.bootstrap_servers, fresh_name("quiet"), 2), 1)


def both(where: TopicPartition) -> list[TopicPartition]:
    return [TopicPartition(where.topic, number) for number in (0, 1)]


@pytest.mark.kafka
def test_a_quiet_source_takes_as_long_as_asked_and_no_longer(
    source: Admin, primary: EmbeddedCluster, where: TopicPartition
) -> None:
    raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(3))])
    began = time.monotonic()
    told: list[str] = []
    assert ProducerWatch(source, both(where)).quiet_for(0.5, 10, told.append) == {both(where)[0]: 0, where: 3}
    assert 0.5 <= time.monotonic() - began < 5
    assert all(re.fullmatch(r"quiet for \d\.\d s", line) for line in told)
    assert ProducerWatch(source, []).quiet_for(0, 1) == {}


@pytest.mark.kafka
def test_it_waits_until_the_last_record_and_tells_who_writes(
    source: Admin, primary: EmbeddedCluster, where: TopicPartition
) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) > 3:
            writer.is_stopped.set()

    with writing(primary.bootstrap_servers, where) as writer:
        wait_until(lambda: writer.taken > 0, "the first record", 10)
        ends = ProducerWatch(source, both(where)).quiet_for(0.5, 20, tell)
    assert ends[where] == writer.taken > 1
    growing = re.compile(rf"still growing: {where.topic} \((\d+) records/s\)")
    rates = [int(match[1]) for text in told if (match := growing.fullmatch(text))]
    assert len(rates) > 1
    assert all(1 <= rate <= 100 for rate in rates[:-1]), rates  # one record takes 10 ms and the way to the broker


@pytest.mark.kafka
def test_who_does_not_stop_is_named(source: Admin, primary: EmbeddedCluster, where: TopicPartition) -> None:
    with writing(primary.bootstrap_servers, where) as writer:
        wait_until(lambda: writer.taken > 0, "the first record", 10)
        expected = rf"did not stop for 1 s within 2 s: still growing: {where.topic} \(\d+ records/s\)"
        with pytest.raises(StillWriting, match=expected):
            ProducerWatch(source, both(where)).quiet_for(1, 2)


@pytest.mark.kafka
def test_a_pause_that_is_too_short_is_no_end(source: Admin, primary: EmbeddedCluster, where: TopicPartition) -> None:
    with writing(primary.bootstrap_servers, where, pause=0.5) as writer:
        wait_until(lambda: writer.taken > 0, "the first record", 10)
        with pytest.raises(StillWriting, match="did not stop for 2 s within 4 s"):
            ProducerWatch(source, both(where)).quiet_for(2, 4)


@pytest.mark.kafka
def test_who_rests_when_the_time_is_up_is_named_all_the_same(
    source: Admin, primary: EmbeddedCluster, where: TopicPartition
) -> None:
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if len(told) == 1:
            raw.append(primary.bootstrap_servers, where, [raw.batch_of(numbered(3))])

    with pytest.raises(StillWriting, match=f"within 2 s: still growing: {where.topic}"):
        ProducerWatch(source, both(where)).quiet_for(5, 2, tell)
    assert told[-1].startswith("quiet for")


@pytest.mark.kafka
def test_an_open_transaction_is_named_and_awaited(
    source: Admin, primary: EmbeddedCluster, where: TopicPartition
) -> None:
    watch = ProducerWatch(source, both(where))
    with raw.network(primary.bootstrap_servers, where.topic) as connected:
        transaction = RawTransaction(connected, f"payer-{where.topic}", where)
        transaction.write(2, 0)
        with pytest.raises(StillWriting, match=f": open transactions: payer-{where.topic} in {where}$"):
            watch.quiet_for(0.2, 0.8)
        told: list[str] = []

        def tell(text: str) -> None:
            if not told:
                transaction.end(commit=True)
            told.append(text)

        assert watch.quiet_for(0.3, 10, tell)[where] == 3  # two records and the end of the transaction
    assert told[0].startswith("open transactions")


class _Interrupted(Admin):
    """A cluster that is out of reach for one look, during which somebody writes."""

    def __init__(self, access: Access, where: TopicPartition) -> None:
        super().__init__(access)
        self.where = where
        self.looks = 0

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self.looks += 1
        if self.looks == 3:
            raw.append(",".join(self.access.bootstrap_servers), self.where, [raw.batch_of(numbered(1))])
            raise BrokerUnavailable("a broker 1: gone for a moment")
        return super().end_offsets(partitions)


@pytest.mark.kafka
def test_after_trouble_with_a_broker_the_wait_begins_anew(source: Admin, where: TopicPartition) -> None:
    told: list[str] = []
    with _Interrupted(source.access, where) as interrupted:
        ends = ProducerWatch(interrupted, [where]).quiet_for(0.5, 10, told.append)
    assert ends == {where: 1}
    assert told[2] == "cannot look: a broker 1: gone for a moment"
    assert told[3] == "quiet for 0.0 s"


@pytest.mark.kafka
def test_a_cluster_that_stays_away_is_told_in_the_end(source: Admin, where: TopicPartition) -> None:
    with (
        Admin(Access("a", ["127.0.0.1:1"])) as gone,
        pytest.raises(StillWriting, match=r"cannot look: .*127\.0\.0\.1:1"),
    ):
        ProducerWatch(gone, [where]).quiet_for(0.1, 0.3)
