"""What detection reads and writes on a real cluster: each epoch once, by one mirror at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import pyarrow as pa
import pytest

from heliograph.conflicts import decision
from heliograph.conflicts.brevity import LARGEST_DECISION
from heliograph.conflicts.bucket import BUCKETS, bucket_of
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.held_pages import HeldKey
from heliograph.conflicts.own_topics import DECISION_SETTINGS
from heliograph.conflicts.settlement import Change, Told
from heliograph.conflicts.totals import PassedBy
from heliograph.conflicts.view import Held
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.cluster_log import ClusterLog
from heliograph.engine.conflicts import step
from heliograph.engine.conflicts.books import DetectionBooks
from heliograph.engine.conflicts.detection_query import DetectionReader
from heliograph.engine.conflicts.driver import DetectionDriver
from heliograph.engine.conflicts.progress import KnownProgress
from heliograph.engine.conflicts.range_rows import RangeRows
from heliograph.engine.conflicts.read_task import ReadTask, TopicOrigin
from heliograph.engine.conflicts.step import Outcome, Tick
from heliograph.engine.conflicts.task_writer import TaskReport, TaskWriter, WriterSettings
from heliograph.engine.conflicts.view_record import held_of, view_record
from heliograph.engine.control import ControlServer
from heliograph.engine.pulse import Heart, Pulse
from heliograph.engine.source import LanePartition
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.errors import DataError, Fenced, TakenOver
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.producing import Batch
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import InternalTopics, TopicPartition
from heliograph.transforms.message import Header
from tests.chaos.stage import admin_of
from tests.conflicts.samples import record
from tests.engine.conflicts.paper_log import PaperLog
from tests.engine.conflicts.samples import NoSurroundings, mark, settings
from tests.waiting import wait_until
from tests.zoo import handmade, raw
from tests.zoo.internal_topics import announce, create_all, fresh_names
from tests.zoo.old_log import damage
from tests.zoo.topics import await_leaders, create_topic, fresh_name

pytestmark = pytest.mark.kafka

VIEW_PARTITIONS = 3
BUCKET = 5


class Detection:
    """Detection on the cluster, under an alias of its own; `orders` stands for a topic that no other test uses."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.alias, self.orders = fresh_name("here"), fresh_name("orders")
        self.view = f"{self.orders}.resolved"
        self.access = Access(self.alias, cluster.bootstrap_servers.split(","))
        self.settings = settings(self.access, self.alias)

    def begun(self, owner: str) -> tuple[DetectionBooks, KnownProgress]:
        """Take over; the topics are there after that."""
        topics = {decision.TOPIC: 1, self.settings.progress_topic: 1, self.view: VIEW_PARTITIONS}
        with admin_of(self.cluster) as admin:
            missing = topics.keys() - admin.topics(list(topics)).keys()
            admin.create_topics([NewTopic(name, topics[name], 1, DECISION_SETTINGS) for name in missing])
        for name, partitions in topics.items():
            await_leaders(self.cluster.bootstrap_servers, name, partitions)
        books = DetectionBooks(self.settings)
        return books, books.take_over(owner, [self.view])

    def outcomes(self, run: str, epoch: int, *values: bytes, buckets: Sequence[int] = (BUCKET,)) -> list[Outcome]:
        """What the buckets of a task tell: for each value a decision and a change of the view."""
        told = [Told(self.orders, b"key", value) for value in values]
        changes = [Change(self.orders, value, held(value)) for value in values]
        tick = Tick(run, epoch, 0, 100, {self.orders: {0: epoch}}, {self.orders: "an id"})
        last = [Outcome(bucket, [], [], tick, mark(epoch)) for bucket in buckets]
        return [Outcome(buckets[0], told, changes), *last]

    def write(self, outcomes: Sequence[Outcome], task: int = 0) -> TaskReport | None:
        """Let a task write them."""
        views = {self.orders: self.view}
        chosen = WriterSettings(self.access, self.settings.progress_topic, self.settings.id_prefix, 2, views)
        return TaskWriter(chosen, task).write(batches(outcomes))

    def contents(self, topic: str) -> list[tuple[int, Record]]:
        """All committed records of a topic, with their partitions."""
        with opened(self.access, [topic]) as (loop, network):
            starts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), reading.EARLIEST))
            return list(reading.read_to_end(loop, network, topic, starts))

    @property
    def decisions(self) -> list[bytes | None]:
        """What was told, by whomever, in keys of this detection."""
        return [item.value for _, item in self.contents(decision.TOPIC)]

    @property
    def progress(self) -> list[Record]:
        return [item for _, item in self.contents(self.settings.progress_topic)]

    @contextmanager
    def open_transaction(
        self, transactional_id: str, where: TopicPartition, value: bytes
    ) -> Iterator[TransactionalProducer]:
        """A transaction in which a record was written, still to be ended."""
        with raw.network(self.cluster.bootstrap_servers, where.topic) as (loop, network):
            producer = TransactionalProducer(network, transactional_id, 60_000)
            producer.join([where])
            written = [Record(0, 5, b"key", value)]
            data = raw.batch_of(written, stamp=producer.stamp, sequence=producer.sequences.take(where, 1))
            [appended] = raw.send(loop, network, [Batch(*where, data)], producer)
            assert appended.error_code == 0
            yield producer

    def append(self, where: TopicPartition, *written: Record) -> None:
        with opened(self.access, [where.topic]) as (loop, network):
            writing.append(loop, network, where, written)


def batches(outcomes: Sequence[Outcome]) -> Iterator[pa.RecordBatch]:
    for outcome in outcomes:
        yield pa.RecordBatch.from_arrays([pa.array([step.encode(outcome)], pa.binary())], names=["data"])


def held(value: bytes) -> Held:
    return Held(value, record("us", 1234, value).order, b"memory")


@pytest.fixture(scope="module")
def decisions(backup: EmbeddedCluster) -> Iterator[None]:
    """The topic that all detection on a cluster shares is removed at the end."""
    yield
    with admin_of(backup) as admin:
        admin.delete_topics([decision.TOPIC])


@pytest.fixture
def detection(backup: EmbeddedCluster, decisions: None) -> Detection:
    """Detection that has never run."""
    return Detection(backup)


# -- books --------------------------------------------------------------------------------------------------------


def test_whoever_takes_over_knows_what_was_committed_before(detection: Detection) -> None:
    detection.begun("one")
    detection.write(detection.outcomes("one", 1, buckets=range(0, BUCKETS, 2)), task=0)
    detection.write(detection.outcomes("one", 1, buckets=range(1, BUCKETS, 2)), task=1)
    detection.write(detection.outcomes("one", 2, buckets=range(1, BUCKETS, 2)), task=1)
    _, known = detection.begun("two")
    assert known.owner == "two"
    assert known.read_to() == {TopicPartition(detection.orders, 0): (1, 2)}
    assert known.watermark_ms == 1
    assert known.topics_made_anew({detection.orders: "an id"}) == set()
    assert known.topics_made_anew({detection.orders: "another id"}) == {detection.orders}


@pytest.mark.parametrize("task", [0, 7], ids=["of now", "of more tasks than now"])
def test_a_transaction_that_was_open_before_can_no_longer_be_committed(detection: Detection, task: int) -> None:
    detection.begun("one")
    value = fresh_name("hidden").encode()
    where = TopicPartition(decision.TOPIC, 0)
    with detection.open_transaction(f"{detection.settings.id_prefix}{task}", where, value) as producer:
        detection.begun("two")
        with pytest.raises(Fenced):
            producer.end(commit=True)
    assert value not in detection.decisions


def test_transactions_of_others_are_left_alone(detection: Detection) -> None:
    detection.begun("one")
    value, where = fresh_name("theirs").encode(), TopicPartition(decision.TOPIC, 0)
    with detection.open_transaction(f"{detection.settings.id_prefix}west-0", where, value) as producer:
        books = DetectionBooks(detection.settings)
        books.take_over("two", [])
        producer.end(commit=True)
    assert value in detection.decisions


def test_the_owner_is_confirmed_until_another_one_takes_over(detection: Detection) -> None:
    one, _ = detection.begun("one")
    for epoch in (1, 2):
        one.confirm_owner("one")
        detection.write(detection.outcomes("one", epoch))
    other, _ = detection.begun("other")
    other.confirm_owner("other")
    for _ in range(2):
        with pytest.raises(TakenOver, match="now belongs to other; this mirror \\(one\\) stops"):
            one.confirm_owner("one")
    detection.write(detection.outcomes("other", 1))
    other.confirm_owner("other")


# -- what tasks write ---------------------------------------------------------------------------------------------


def test_a_task_writes_decisions_views_and_progress(detection: Detection) -> None:
    detection.begun("one")
    values = [fresh_name("told").encode() for _ in range(4)]
    report = detection.write(detection.outcomes("one", 3, *values, buckets=[BUCKET, BUCKET + 1]), task=1)
    assert report == TaskReport(1, 3, {BUCKET: mark(3), BUCKET + 1: mark(3)}, {detection.orders: 4})
    assert [value for value in detection.decisions if value in values] == values
    view = detection.contents(detection.view)
    assert {item.key: held_of(item) for _, item in view} == {value: held(value) for value in values}
    for number, item in view:
        assert number == positions.partition_for(item.key or b"", VIEW_PARTITIONS)
    known = KnownProgress(detection.progress)
    found = known.resumption(BUCKET + 1)
    assert found is not None
    assert (found.watermark_ms, found.places) == (3, {detection.orders: {0: 3}})
    assert known.resumption(BUCKET + 2) is None


def test_an_epoch_that_is_written_twice_is_there_once(detection: Detection) -> None:
    detection.begun("one")
    value = fresh_name("once").encode()
    first = detection.write(detection.outcomes("one", 1, value))
    for _ in range(3):  # tasks of the same epoch write in between, and try again
        detection.write(detection.outcomes("one", 1, buckets=[BUCKET + 1]), task=1)
        assert detection.write(detection.outcomes("one", 1, value)) == first
    assert detection.decisions.count(value) == 1
    assert len(detection.contents(detection.view)) == 1
    assert len(detection.progress) == 3  # with whoever has announced himself
    detection.write(detection.outcomes("one", 2, value))
    assert detection.decisions.count(value) == 2


def test_the_same_epoch_of_another_run_is_written(detection: Detection) -> None:
    value = fresh_name("again").encode()
    for run in ("one", "two"):
        detection.begun(run)
        detection.write(detection.outcomes(run, 1, value))
    assert detection.decisions.count(value) == 2


@pytest.mark.parametrize("new_one_has_written", [False, True])
def test_a_task_of_a_mirror_that_was_replaced_writes_nothing(detection: Detection, new_one_has_written: bool) -> None:
    """Fencing alone would not do: a task that begins later is the one that fences."""
    detection.begun("one")
    detection.write(detection.outcomes("one", 1))
    detection.begun("two")
    if new_one_has_written:
        for epoch in range(40):  # so that it is long ago that it took over
            detection.write(detection.outcomes("two", epoch))
    value = fresh_name("zombie").encode()
    with pytest.raises(TakenOver, match="now belongs to two"):
        detection.write(detection.outcomes("one", 2, value))
    assert value not in detection.decisions
    after = fresh_name("after").encode()
    detection.write(detection.outcomes("two", 100, after))
    assert detection.decisions.count(after) == 1


def test_a_task_without_rows_writes_nothing(detection: Detection) -> None:
    detection.begun("one")
    assert detection.write([]) is None
    assert len(detection.progress) == 1


def test_a_record_that_no_broker_takes_is_said(detection: Detection) -> None:
    detection.begun("one")
    with pytest.raises(DataError, match="larger than brokers take"):
        detection.write(detection.outcomes("one", 1, b"v" * 2 * LARGEST_DECISION))
    assert len(detection.progress) == 1


# -- what tasks read ----------------------------------------------------------------------------------------------


class Reading:
    """A topic of one partition, and what tasks make of it."""

    def __init__(self, detection: Detection) -> None:
        self.detection = detection
        self.topic = create_topic(detection.cluster.bootstrap_servers, detection.orders)
        self.where = TopicPartition(self.topic, 0)
        self.about = TopicOrigin("orders", "eu")
        self.passed_by: list[PassedBy] = []  # in what was read last

    def end(self) -> int:
        with opened(self.detection.access, [self.topic]) as (_, network):
            return reading.list_offsets(network, self.topic, {0: reading.LATEST})[0]

    def rows(self, first: int = 0, end: int | None = None) -> list[tuple[int, int, bytes]]:
        ranges = [OffsetRange(self.where, first, self.end() if end is None else end)]
        reader = RangeRows(ReadTask(self.detection.access, ranges, {self.topic: self.about}))
        found = list(reader.read())
        self.passed_by = reader.passed_by
        return found

    def candidates(self, first: int = 0, end: int | None = None) -> list[Candidate]:
        """In the order of the log; each must come to the bucket of its key."""
        found: list[Candidate] = []
        for bucket, kind, data in self.rows(first, end):
            assert kind == step.RECORDS
            for item in step.decode_records(data):
                assert bucket == bucket_of("orders", item.key)
                found.append(item)
        return sorted(found, key=lambda item: item.offset)

    def append(self, *written: Record) -> None:
        self.detection.append(self.where, *written)

    def append_as(self, value: bytes, flow: InternalTopics | None = None, commit: bool = True) -> None:
        """A record of a producer of a flow, or of somebody else."""
        name = fresh_name("producer")
        with self.detection.open_transaction(name, self.where, value) as producer:
            if flow:
                announce(self.detection.cluster.bootstrap_servers, flow, producer.stamp.producer_id)
            producer.end(commit)


@pytest.fixture
def log(detection: Detection) -> Reading:
    """An empty topic."""
    return Reading(detection)


def test_records_are_read_with_all_that_counts(log: Reading) -> None:
    log.append(Record(0, 1000, b"k", b"v", (("h", b"1"), ("h", None))), Record(1, 1001, b"", None))
    headers = (Header("h", b"1"), Header("h", None))
    assert log.candidates() == [
        Candidate("eu", "orders", log.topic, 0, 0, 1000, b"k", b"v", headers),
        Candidate("eu", "orders", log.topic, 0, 1, 1001, b"", None),
    ]


def test_records_without_a_key_are_left_out(log: Reading) -> None:
    log.append(Record(0, 1, None, b"a"), Record(1, 2, b"k", b"b"), Record(2, 3, None, None))
    assert [item.value for item in log.candidates()] == [b"b"]


def test_a_range_may_begin_and_end_within_a_batch(log: Reading) -> None:
    log.append(*(Record(number, number, b"k%d" % number, b"v") for number in range(10)))
    assert [item.offset for item in log.candidates(3, 7)] == [3, 4, 5, 6]
    assert [item.offset for item in log.candidates(0, 3) + log.candidates(7)] == [0, 1, 2, 7, 8, 9]
    assert log.rows(4, 4) == []


def test_what_was_aborted_is_left_out(log: Reading) -> None:
    log.append_as(b"a")
    log.append_as(b"taken back", commit=False)
    log.append_as(b"b")
    assert [item.value for item in log.candidates()] == [b"a", b"b"]


def test_where_names_are_kept_the_ledger_tells_who_has_brought_a_record(log: Reading) -> None:
    servers = log.detection.cluster.bootstrap_servers
    from_us, from_ap = create_all(servers), create_all(servers)
    log.about = replace(log.about, bringers={"us": from_us, "ap": from_ap, "never": fresh_names()})
    log.append(Record(0, 1, b"key", b"written here"))
    log.append_as(b"brought from us", from_us)
    log.append_as(b"written here in a transaction")
    log.append_as(b"brought from ap", from_ap)
    assert [(item.origin, item.value) for item in log.candidates()] == [
        ("eu", b"written here"),
        ("us", b"brought from us"),
        ("eu", b"written here in a transaction"),
        ("ap", b"brought from ap"),
    ]


def test_a_header_tells_where_other_tools_have_brought_a_record_from(log: Reading) -> None:
    log.about = replace(log.about, header="from")
    log.append(
        Record(0, 1, b"a", b"", (("from", b"us"), ("from", b"ap"))),
        Record(1, 2, b"b", b"", (("from", b""), ("other", b"us"))),
        Record(2, 3, b"c", b"", (("from", None),)),
    )
    assert [item.origin for item in log.candidates()] == ["ap", "eu", "eu"]


_PREFIX = 12  # offset and length
_AFTER_EPOCH = 17  # up to there the broker writes what it likes, and no checksum covers it


def test_a_header_whose_name_is_no_text_keeps_no_record_out(log: Reading) -> None:
    keyed = handmade.record(b"v", key=b"k", headers=[(handmade.FOREIGN_NAME, b"x"), (b"from", b"us")])
    raw.append(log.detection.cluster.bootstrap_servers, log.where, [handmade.batch(0, [keyed])])
    log.append(Record(0, 1000, b"k", b"w"))
    found = log.candidates()
    assert [item.value for item in found] == [b"v", b"w"]
    assert found[0].header("from") == b"us"
    assert found[0].headers[0] == Header("gr\ufffd\ufffde", b"x")
    assert log.passed_by == []


@pytest.mark.parametrize("harm", ["undecodable", "damaged"])
def test_what_cannot_be_read_is_passed_by_and_told(log: Reading, harm: str) -> None:
    log.append(Record(0, 1000, b"k", b"before"))
    whole = handmade.data(0, 3)
    raw.append(log.detection.cluster.bootstrap_servers, log.where, [whole])
    log.append(Record(0, 1000, b"k", b"after"))
    spoilt = handmade.undecodable(0, 3) if harm == "undecodable" else whole[:-1] + b"!"
    damage(log.detection.cluster, log.where, whole[_AFTER_EPOCH:], spoilt[_AFTER_EPOCH:])
    assert [item.value for item in log.candidates()] == [b"before", b"after"]
    [passed] = log.passed_by
    assert (passed.where, passed.first, passed.last) == (log.where, 1, 3)
    assert ("fails its checksum" if harm == "damaged" else "cannot be read") in passed.reason


def test_where_no_batch_can_be_made_out_the_rest_of_the_range_is_passed_by(log: Reading) -> None:
    first, second = handmade.data(0, 3), handmade.data(0, 2)
    keyed = handmade.batch(0, [handmade.record(b"v", key=b"k")])
    raw.append(log.detection.cluster.bootstrap_servers, log.where, [keyed, first, second])
    length = len(first) - _PREFIX
    told = first[_AFTER_EPOCH:]
    damage(log.detection.cluster, log.where, length.to_bytes(4, "big") + b"\0\0\0\0\2" + told, bytes(9) + told)
    assert [item.value for item in log.candidates(0, 4)] == [b"v"]
    [passed] = log.passed_by
    assert (passed.first, passed.last) == (1, 3)


def test_what_cannot_be_read_of_a_view_is_passed_by(log: Reading) -> None:
    log.append(view_record(b"k", held(b"old")), Record(0, 1234, b"l", b"damaged"))
    log.append(view_record(b"m", held(b"new")))
    damage(log.detection.cluster, log.where, b"damaged", b"DAMAGED")
    task = ReadTask(log.detection.access, [], {}, (), {log.topic: "orders"}, [OffsetRange(log.where, 0, 3)])
    rows = RangeRows(task)
    assert [step.decode_held(data).held for _, _, data in rows.read()] == [[HeldKey("orders", b"m", held(b"new"))]]
    assert [(item.first, item.last) for item in rows.passed_by] == [(0, 1)]


def test_the_driver_is_told_once_what_was_passed_by_and_how_its_tasks_are(log: Reading) -> None:
    log.append(Record(0, 1000, b"k", b"damaged"), Record(1, 1000, b"k", b"2"))
    damage(log.detection.cluster, log.where, b"damaged", b"DAMAGED")
    driver = DetectionDriver(log.detection.settings, NoSurroundings())
    with closing(ControlServer()) as server:
        server.add_flow(driver.name, driver)
        task = ReadTask(log.detection.access, [OffsetRange(log.where, 0, 2)], {log.topic: log.about}).packed()
        for _ in range(2):
            assert list(DetectionReader(server.address, driver.name).read(LanePartition(7, task))) == []
        wait_until(lambda: driver.totals.unreadable == 2, "the driver to count it once")
        assert driver.doings.keys() == {7}
    [passed] = driver.totals.passed_by
    assert str(passed).startswith(f"{log.where}: offsets 0 to 1 passed by: the batch at offset 0 fails its checksum")


def test_a_task_that_writes_tells_how_it_is(detection: Detection) -> None:
    detection.begun("one")
    pulses: list[Pulse] = []
    chosen = WriterSettings(detection.access, detection.settings.progress_topic, detection.settings.id_prefix, 2, {})
    TaskWriter(chosen, 1, Heart(1, pulses.append)).write(batches(detection.outcomes("one", 1)))
    assert {pulse.lane for pulse in pulses} == {1}


def test_ticks_and_views_come_first(log: Reading) -> None:
    view = create_topic(log.detection.cluster.bootstrap_servers, fresh_name("view"))
    log.append(Record(0, 1, b"k", b"v"))
    log.detection.append(
        TopicPartition(view, 0),
        view_record(b"k", held(b"old")),
        Record(0, 1, b"k", b"of somebody else"),
        view_record(b"k", held(b"new")),
        view_record(b"l", held(b"other")),
    )
    task = ReadTask(
        log.detection.access, [OffsetRange(log.where, 0, 1)], {log.topic: log.about}, [(3, b"tick")], {view: "orders"},
        [OffsetRange(TopicPartition(view, 0), 0, 4)],
    )  # fmt: skip
    rows = list(RangeRows(ReadTask.unpacked(task.packed())).read())
    kinds = [kind for _, kind, _ in rows]
    assert (kinds[0], rows[0]) == (step.TICK, (3, step.TICK, b"tick"))
    assert kinds == sorted(kinds, key=[step.TICK, step.HELD, step.RECORDS].index)
    found = {bucket: step.decode_held(data).held for bucket, kind, data in rows if kind == step.HELD}
    assert found[bucket_of("orders", b"k")][:2] == [HeldKey("orders", b"k", held(value)) for value in (b"old", b"new")]
    assert HeldKey("orders", b"l", held(b"other")) in found[bucket_of("orders", b"l")]


def test_a_task_with_ticks_only_needs_no_cluster() -> None:
    task = ReadTask(Access("nowhere", ["127.0.0.1:1"]), [], {}, [(0, b"tick")])
    assert list(RangeRows(task).read()) == [(0, step.TICK, b"tick")]


# -- what plans are made from -------------------------------------------------------------------------------------


def test_the_cluster_answers_as_the_log_on_paper_does(log: Reading) -> None:
    times = [1000, 3000, 2000, 5000]
    log.append(*(Record(number, time_ms, b"k", b"v") for number, time_ms in enumerate(times)))
    found, paper = ClusterLog(log.detection.access), PaperLog({log.where: [*times, 5]})
    paper.hidden[log.where] = len(times)
    with closing(found), log.detection.open_transaction(fresh_name("producer"), log.where, b"hidden") as producer:
        for ask in ("earliest", "latest", "ends"):
            assert getattr(found, ask)([log.where]) == getattr(paper, ask)([log.where])
        for time_ms in (-1, 0, 1000, 1001, 2500, 3001, 5000, 5001):
            latest = {log.where: len(times)}
            assert found.at_time(latest, time_ms) == paper.at_time(latest, time_ms)
        assert found.at_time({log.where: 2}, 5000) == {log.where: 2}
        assert found.partitions([log.topic]) == paper.partitions([log.topic])
        assert found.earliest([]) == {}
        producer.end(commit=True)
        wait_until(lambda: found.latest([log.where])[log.where] > len(times), "the end of the transaction", 20, 0.05)
