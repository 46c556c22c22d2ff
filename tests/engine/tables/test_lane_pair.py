"""The two ends of a lane without Spark between them: what a query would do is done by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from kafka import KafkaAdminClient
from kafka import TopicPartition as ClientPartition

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.pulse import Heart
from heliograph.engine.tables.columns import NUMBER, milliseconds
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.flow_query import _written
from heliograph.engine.tables.handover import Begun, Coverage, Handover
from heliograph.engine.tables.lane_reader import LaneReader
from heliograph.engine.tables.lane_writer import COLUMNS, LaneWriter
from heliograph.engine.tables.rules import SqlRules
from heliograph.engine.task import LaneTask
from heliograph.errors import BrokerUnavailable, Fenced, TakenOver
from heliograph.kafka import positions
from heliograph.kafka.records import Record
from heliograph.model import EventKind, LedgerEntry, Position, TopicPartition
from tests.engine.tables.shop import read_topic
from tests.monitor.scene import Scene, append, make_scene
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka

_SINGLE = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=1\n"

MakeScene = Callable[..., tuple[Scene, TopicPartition]]


@pytest.fixture
def make(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> MakeScene:
    """A flow that has one partition with ten records to mirror."""

    def made(text: str = "") -> tuple[Scene, TopicPartition]:
        scene = make_scene(tmp_path, primary, backup, _SINGLE + text)
        return scene, TopicPartition(scene.source_topic("paired", 10), 0)

    return made


Drive = Callable[[Scene], TableFlowDriver]


@pytest.fixture
def driver_of() -> Iterator[Drive]:
    """The driver of a scene's flow, ended with the test."""
    drivers: list[TableFlowDriver] = []

    def made(scene: Scene) -> TableFlowDriver:
        driver = TableFlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow), SqlRules("", look_seconds=0.01))
        drivers.append(driver)
        driver.take_over()
        return driver

    yield made
    for driver in drivers:
        driver.stop()
        assert driver.next_epoch(5) == 5  # which hangs up


class Memory(Handover):
    """Both ends are in this process."""

    def __init__(self) -> None:
        self._begun: Begun | None = None
        self._covered: Coverage | None = None

    def begin(self, begun: Begun) -> None:
        self._begun = begun

    def end(self, coverage: Coverage) -> None:
        self._covered = coverage

    def begun(self) -> Begun:
        assert self._begun is not None
        return self._begun

    def covered(self) -> Coverage:
        assert self._covered is not None
        return self._covered


class Pair:
    """One attempt of a lane."""

    def __init__(self, task: bytes) -> None:
        self.handover = Memory()
        with closing(LaneReader(LaneTask.unpacked(task), self.handover)) as reader:
            self.batches = [_untouched(batch) for batch in reader.read()]
        self.writer = LaneWriter(self.handover.begun())

    def write(self) -> None:
        self.writer.start()
        for batch in self.batches:
            self.writer.write(batch)

    def finish(self) -> LedgerEntry | None:
        with closing(self.writer):
            return self.writer.finish(self.handover.covered())

    def run(self) -> LedgerEntry | None:
        self.write()
        return self.finish()


def _untouched(batch: pa.RecordBatch) -> pa.RecordBatch:
    """What `SELECT * FROM records` would make of it."""
    rows, count = dict(zip(batch.schema.names, batch.columns, strict=True)), batch.num_rows
    columns = [
        rows[NUMBER], rows["offset"], rows["value"].is_valid(), rows["key"], rows["value"], rows["headers"],
        rows["topic"], pa.nulls(count, pa.int32()), milliseconds(rows["timestamp"]),
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))


def round_of(driver: TableFlowDriver) -> LedgerEntry | None:
    """One micro-batch."""
    [task] = driver.lane_tasks(1)
    entry = Pair(task).run()
    if entry is not None:
        driver.lane_progressed(entry)
    return entry


def test_a_round_takes_what_is_new_and_then_there_is_no_news(make: MakeScene, driver_of: Drive) -> None:
    scene, where = make()
    driver = driver_of(scene)
    assert driver.next_epoch(0) == 1
    entry = round_of(driver)
    assert entry is not None
    assert entry.record_count == 10
    assert driver.next_epoch(1) == 1
    assert round_of(driver) is None
    scene.send(where.topic, 0, 5)
    assert driver.next_epoch(1) == 2
    entry = round_of(driver)
    assert entry is not None
    [progress] = entry.partitions
    assert (progress.last_offset, [run[0::2] for run in progress.runs]) == (14, [(10, 5)])


def test_an_attempt_that_another_one_has_overtaken_writes_nothing(make: MakeScene, driver_of: Drive) -> None:
    scene, _ = make()
    driver = driver_of(scene)
    [task] = driver.lane_tasks(1)
    late = Pair(task)
    assert Pair(task).run() is not None
    with closing(late.writer), pytest.raises(Fenced, match="moved its position"):
        late.write()


def test_an_attempt_in_the_middle_of_its_transaction_is_locked_out(make: MakeScene, driver_of: Drive) -> None:
    scene, _ = make()
    driver = driver_of(scene)
    [task] = driver.lane_tasks(1)
    late = Pair(task)
    late.write()
    entry = Pair(task).run()
    assert entry is not None
    assert entry.record_count == 10
    with pytest.raises(Fenced):
        late.finish()
    assert round_of(driver) is None


def test_records_stay_in_order_where_codecs_change(make: MakeScene, driver_of: Drive) -> None:
    scene, where = make()
    made = [Record(0, number, b"%d" % number, b"x") for number in range(50)]
    pieces = [raw.batch_of([record], compression=3 if number % 2 else 0) for number, record in enumerate(made)]
    raw.append(scene.source, where, pieces)
    entry = round_of(driver_of(scene))
    assert entry is not None
    assert entry.record_count == 60
    found = [record.key for _, record in read_topic(scene.target, f"{scene.alias}.{where.topic}")]
    assert found[10:] == [record.key for record in made]


def test_lanes_of_an_earlier_take_over_end(make: MakeScene, driver_of: Drive) -> None:
    scene, _ = make()
    driver = driver_of(scene)
    [stale] = driver.lane_tasks(1)
    driver.take_over()
    with pytest.raises(TakenOver):
        Pair(stale)


def test_a_start_at_the_end_is_remembered_although_nothing_was_read(make: MakeScene, driver_of: Drive) -> None:
    scene, where = make("consumer.auto.offset.reset=latest\n")
    driver = driver_of(scene)
    entry = round_of(driver)
    assert entry is not None
    assert entry.record_count == 0
    scene.send(where.topic, 0, 3)
    entry = round_of(driver)
    assert entry is not None
    assert entry.record_count == 3


@pytest.mark.parametrize("policy", ["stop", "continue"])
def test_records_that_the_source_has_lost_are_told(make: MakeScene, driver_of: Drive, policy: str) -> None:
    scene, where = make(f"on.data.loss={policy}\n")
    driver = driver_of(scene)
    round_of(driver)
    scene.send(where.topic, 0, 10)
    with closing(KafkaAdminClient(bootstrap_servers=scene.source)) as admin:
        admin.delete_records({ClientPartition(*where): 15})
    entry = round_of(driver)
    assert entry is not None
    kinds = [event.kind for event in entry.events]
    assert (entry.events[0].from_offset, entry.events[0].to_offset) == (10, 15)
    if policy == "stop":
        assert kinds == [EventKind.RETENTION, EventKind.SET_ASIDE]
        assert driver.next_epoch(1) == 1  # rests, instead of being tried again and again
        return
    assert kinds == [EventKind.RETENTION]
    entry = round_of(driver)
    assert entry is not None
    assert entry.record_count == 5


def create_copy_again(scene: Scene, where: TopicPartition, others: int) -> None:
    """The copy of a topic is deleted, created again, and filled with so many records of somebody else."""
    copy = f"{scene.alias}.{where.topic}"
    with closing(KafkaAdminClient(bootstrap_servers=scene.target)) as admin:
        admin.delete_topics([copy])
    with raw.network(scene.target) as (_, network):
        wait_until(lambda: bool(network.look_up([copy])), "the copy to be gone")
    create_topic(scene.target, copy)
    append(scene.target, copy, 0, [Record(0, 1_700_000_000_000, None, b"of others")] * others)


def on_copy(scene: Scene, where: TopicPartition) -> int:
    """How many records the copy of a partition has."""
    return len(list(read_topic(scene.target, f"{scene.alias}.{where.topic}")))


@pytest.mark.parametrize("others", [0, 30])
@pytest.mark.parametrize("policy", ["stop", "continue"])
def test_records_that_the_target_has_lost_are_told(make: MakeScene, driver_of: Drive, policy: str, others: int) -> None:
    scene, where = make(f"on.data.loss={policy}\n")
    driver = driver_of(scene)
    round_of(driver)
    create_copy_again(scene, where, others)
    scene.send(where.topic, 0, 5)
    entry = round_of(driver)
    assert entry is not None
    lost = entry.events[0]
    assert (lost.kind, lost.from_offset, lost.to_offset) == (EventKind.TARGET_LOSS, 0, 10)
    assert "deleted and created again" in lost.reason
    if policy == "stop":
        assert [event.kind for event in entry.events[1:]] == [EventKind.SET_ASIDE]
        assert driver.next_epoch(1) == 1  # rests, instead of being tried again and again
        assert on_copy(scene, where) == others
        return
    assert (len(entry.events), entry.record_count) == (1, 5)
    assert on_copy(scene, where) == others + 5
    scene.send(where.topic, 0, 5)
    entry = round_of(driver)
    assert entry is not None
    assert (entry.events, entry.record_count) == ((), 5)


def test_a_target_that_is_created_again_between_reading_and_writing_is_noticed(
    make: MakeScene, driver_of: Drive
) -> None:
    scene, where = make("on.data.loss=stop\n")
    driver = driver_of(scene)
    round_of(driver)
    scene.send(where.topic, 0, 5)
    [task] = driver.lane_tasks(2)
    pair = Pair(task)
    create_copy_again(scene, where, 30)
    with pytest.raises(BrokerUnavailable, match="created again"), closing(pair.writer):
        pair.write()
    assert on_copy(scene, where) == 30


def stand_at(scene: Scene, where: TopicPartition, position: Position) -> None:
    """Write a position as an earlier version did."""
    topic = f"mm2-offsets.{scene.alias}.internal"
    key = positions.encode_key(scene.alias, where)
    with raw.network(scene.target, topic) as (_, network):
        number = positions.partition_for(key, len(network.partitions(topic)))
    append(scene.target, topic, number, [Record(0, 1_700_000_000_000, key, positions.encode_value(position))])


def test_a_target_that_loses_records_while_others_are_written_is_told_by_the_next_attempt(
    make: MakeScene, driver_of: Drive
) -> None:
    """Where nothing but offsets tells. By then the target reaches beyond the position again."""
    scene, where = make("on.data.loss=stop\n")
    driver = driver_of(scene)
    round_of(driver)
    stand_at(scene, where, Position(9, 9))
    scene.send(where.topic, 0, 20)
    [task] = driver.lane_tasks(2)
    pair = Pair(task)
    create_copy_again(scene, where, 0)
    [entry] = _written(pair.handover.begun(), iter(pair.batches), pair.handover, False, Heart.silent())
    assert (entry.partitions, entry.events) == ((), ())
    told = round_of(driver)
    assert told is not None
    assert [event.kind for event in told.events] == [EventKind.TARGET_LOSS, EventKind.SET_ASIDE]
    assert (told.events[0].from_offset, told.events[0].to_offset) == (0, 10)
    assert on_copy(scene, where) == 0
