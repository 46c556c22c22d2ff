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
from heliograph.engine.tables.columns import NUMBER, milliseconds
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.handover import Begun, Coverage, Handover
from heliograph.engine.tables.lane_reader import LaneReader
from heliograph.engine.tables.lane_writer import COLUMNS, LaneWriter
from heliograph.engine.tables.rules import SqlRules
from heliograph.engine.task import LaneTask
from heliograph.errors import Fenced, TakenOver
from heliograph.kafka.records import Record
from heliograph.model import EventKind, LedgerEntry, TopicPartition
from tests.engine.tables.shop import read_topic
from tests.monitor.scene import Scene, make_scene
from tests.zoo import raw

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
