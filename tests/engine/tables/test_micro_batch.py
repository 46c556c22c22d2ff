"""Micro-batches on brokers: whatever is run again, and in whatever way, each row is there once or the query is told."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.tables import markers, micro_batch
from heliograph.engine.tables.micro_batch import State, Written
from heliograph.engine.tables.row_writer import SinkPlan
from heliograph.errors import DataError
from heliograph.kafka import reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.reading import LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

Tasks = Sequence[Sequence[int]]
TWO: Tasks = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
THREE: Tasks = [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
ROWS = list(range(10))


def values(rows: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch([pa.array([str(row) for row in rows])], names=["value"])


class Query:
    """A query's tasks and driver, without Spark."""

    def __init__(self, servers: str) -> None:
        self.name = fresh_name("query")
        self.where = TopicPartition(create_topic(servers, fresh_name("rows")), 0)
        self.access = Access("sink", servers.split(","))
        self._servers = servers
        self._plan = SinkPlan(self.access, self.where.topic, 0, 60_000)
        with Admin(self.access) as admin:
            markers.prepare_topic(admin, 1)

    def run(self, tasks: Tasks, batch: int = 0) -> list[Written]:
        micro_batch._begun.clear()  # as in other processes
        return [self.task(number, rows, batch) for number, rows in enumerate(tasks)]

    def task(self, number: int, rows: Sequence[int], batch: int = 0) -> Written:
        return micro_batch.prepare(self._plan, self.name, number, batch, iter([values(rows)]))

    def write_alone(self, rows: pa.RecordBatch) -> None:
        """As a task of a batch does, which commits its own transaction."""
        micro_batch.write_and_commit(self._plan, markers.task_name(self.name, 0), iter([rows]))

    def commit(self, written: Sequence[Written]) -> None:
        micro_batch.commit(self.access, written)

    def commit_and_die(self, written: Sequence[Written]) -> None:
        """As a driver does that dies after its first commit."""
        with raw.network(self._servers) as (_, network):
            micro_batch._commit_one(network, written[0])

    def seen(self) -> list[int]:
        """What readers of committed records have by now, without waiting for open transactions."""
        with raw.network(self._servers, self.where.topic) as (loop, network):
            ends = reading.list_offsets(network, self.where.topic, {0: LATEST}, READ_COMMITTED)
            found = reading.read_batches(loop, network, self.where.topic, {0: 0}, ends)
            return sorted(
                int(record.value or b"") for batch in found for record in records.decode(batch.magic, batch.data)
            )

    def open_transactions(self) -> int:
        with Admin(self.access) as admin:
            return len(admin.open_transactions([self.where]))


@pytest.fixture
def query(primary: EmbeddedCluster) -> Query:
    return Query(primary.bootstrap_servers)


def test_nothing_is_seen_before_the_driver_commits(query: Query) -> None:
    written = query.run(TWO)
    assert query.seen() == []
    query.commit(written)
    wait_until(lambda: query.seen() == ROWS, "the markers of all transactions", 10)


def test_if_nothing_was_committed_it_can_be_run_again_in_any_way(query: Query) -> None:
    query.run(THREE)
    query.commit(query.run(TWO))
    assert query.seen() == ROWS


def test_a_complete_one_is_not_written_again_however_it_is_run(query: Query) -> None:
    query.commit(query.run(TWO))
    again = query.run(THREE)
    assert {item.state for item in again} == {State.COMPLETE}
    query.commit(again)
    assert query.seen() == ROWS
    query.commit(query.run(THREE, batch=1))
    assert query.seen() == sorted(ROWS * 2)


def test_half_of_one_is_completed_by_the_same_tasks(query: Query) -> None:
    query.commit_and_die(query.run(TWO))
    again = query.run(TWO)
    assert [item.state for item in again] == [State.COMMITTED, State.PREPARED]
    query.commit(again)
    assert query.seen() == ROWS


def test_half_of_one_is_not_completed_by_other_tasks(query: Query) -> None:
    query.commit_and_die(query.run(TWO))
    with pytest.raises(DataError, match="was written in part by an earlier run"):
        query.commit(query.run(THREE))
    assert query.open_transactions() == 0
    assert query.seen() == TWO[0]
    with pytest.raises(DataError, match="was written in part by an earlier run"):
        query.commit(query.run([ROWS]))
    query.commit(query.run([rows[::-1] for rows in TWO]))
    assert query.seen() == ROWS


def test_a_driver_that_was_thought_dead_commits_nothing_behind_a_task_that_is_fenced(query: Query) -> None:
    late = query.run(THREE)
    written = query.run(TWO[:1])
    with pytest.raises(DataError, match="cannot be committed: the transaction of task 0 has ended before"):
        query.commit(late)
    query.commit([*written, query.task(1, TWO[1])])
    assert query.seen() == ROWS


def test_a_commit_that_was_not_heard_is_made_again(query: Query) -> None:
    written = query.run(TWO)
    query.commit_and_die(written)
    query.commit(written)
    assert query.seen() == ROWS


def test_a_task_that_fails_leaves_nothing_open(query: Query) -> None:
    query.run(TWO[1:])
    bad = pa.record_batch([pa.array(["1", "2"]), pa.array([0, 7])], names=["value", "partition"])
    with pytest.raises(DataError, match="none with the number 7"):
        micro_batch.prepare(query._plan, query.name, 0, 0, iter([bad]))
    assert query.open_transactions() == 0


def test_an_aborted_one_leaves_nothing_open(query: Query) -> None:
    written = query.run(TWO)
    assert query.open_transactions() == 2
    micro_batch.abort(query.access, written)
    assert query.open_transactions() == 0
    assert query.seen() == []


def test_a_task_of_a_batch_that_comes_back_with_the_same_rows_writes_nothing(query: Query) -> None:
    query.write_alone(values(ROWS))
    query.write_alone(values(ROWS[::-1]))
    assert query.seen() == ROWS


def test_a_task_of_a_batch_that_comes_back_with_other_rows_is_refused(query: Query) -> None:
    """As after an executor was lost, when what it had read was computed again in another order."""
    query.write_alone(values(ROWS[:5]))
    with pytest.raises(DataError, match=r"task .*-0 has committed other rows before .* Write what checkpoint"):
        query.write_alone(values(ROWS[5:]))
    assert query.open_transactions() == 0
    assert query.seen() == ROWS[:5]


def test_rows_that_go_elsewhere_are_other_rows(query: Query) -> None:
    same = pa.array(["1", "2"])
    query.write_alone(pa.record_batch([same, pa.array([0, 0])], names=["value", "partition"]))
    with pytest.raises(DataError, match="has committed other rows before"):
        query.write_alone(pa.record_batch([same, pa.array([0, None])], names=["value", "partition"]))


def test_older_markers_are_honoured(query: Query, primary: EmbeddedCluster) -> None:
    with raw.network(primary.bootstrap_servers, markers.TOPIC) as (loop, network):
        name = f"{query.name}-0"
        producer = TransactionalProducer(network, micro_batch.transactional_id(name), 60_000)
        producer.join([markers.PLACE])
        old = Record(0, 1, name.encode(), json.dumps({"batch": 3}).encode())  # without a format, without rows
        assert markers.encode(name, markers.Marker(3), 1).key == old.key
        data = raw.batch_of([old], stamp=producer.stamp, sequence=producer.sequences.take(markers.PLACE, 1))
        raw.send(loop, network, [raw.Batch(*markers.PLACE, data)], producer)
        producer.end(commit=True)
    again = query.run(TWO, batch=3)
    assert [item.state for item in again] == [State.COMMITTED, State.PREPARED]
    assert {item.state for item in query.run(TWO, batch=2)} == {State.COMPLETE}


def test_the_topic_of_an_older_version_gets_small_segments(backup: EmbeddedCluster) -> None:
    with Admin(Access("sink", backup.bootstrap_servers.split(","))) as admin:
        admin.delete_topics([markers.TOPIC])
        admin.create_topic(NewTopic(markers.TOPIC, 1, 1, {"cleanup.policy": "compact"}))
        admin.wait_for_topics({markers.TOPIC: 1})
        markers.prepare_topic(admin, 1)

        def value(name: str) -> str | None:
            return admin.topic_settings([markers.TOPIC])[markers.TOPIC][name].value

        wait_until(lambda: value("segment.bytes") == str(1024 * 1024), "the setting")
        assert value("cleanup.policy") == "compact"
