"""One partition on its way through transforms, with the queues of its targets in the open."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast
from uuid import UUID

import pytest

from heliograph.engine.copying import CopyRules
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.engine.target_topics import TargetTopics
from heliograph.engine.transformed_copy import TransformedCopy, TransformTools
from heliograph.engine.transforming import Transformer, TransformSettings
from heliograph.errors import DataError, RetryLater, TransformWaits
from heliograph.kafka import batches, records
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import Producer
from heliograph.model import Assignment, EventKind, Run, TopicPartition
from heliograph.transforms.chain import Chain, Route, Stage
from heliograph.transforms.message import Header, Message, Parsed
from heliograph.transforms.stage import Transform
from tests.zoo import handmade

SOURCE, TARGET, LETTERS = TopicPartition("orders", 0), TopicPartition("primary.orders", 0), TopicPartition("letters", 0)
ELSEWHERE = TopicPartition("elsewhere", 0)
Rule = Callable[[Message, int], Message | None]


class _Plain:
    def read(self, topic: str, data: bytes) -> Parsed:
        return Parsed(None, data)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        return cast("bytes | None", parsed.value)


class Ruled(Transform):
    """Does what a function says, which gets the message and the number in its value."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def apply(self, message: Message) -> Message | None:
        return self._rule(message, int(bytes(message.value.parsed("").value).strip(b"v.")))


class _Targets:
    """Every partition exists, and stays in the open."""

    def __init__(self) -> None:
        self.known: dict[TopicPartition, TargetPartition] = {}

    def partition(self, where: TopicPartition, partitions: int) -> TargetPartition:
        if where.topic == "forbidden":
            raise DataError("cannot be created")
        return self.known.setdefault(where, TargetPartition(where, broker_id=1))


class Bench:
    """The partition `orders-0`, and all that it writes to."""

    def __init__(
        self, rule: Rule, start: int = 0, limit: int = 1_000_000, rules: CopyRules | None = None, **settings: object
    ) -> None:
        self.point = FetchPoint("orders", UUID(int=9), 0, start)
        self.targets = _Targets()
        self.waits = False
        assignment = Assignment(SOURCE, TARGET, limit)
        route = Chain((Stage("rule", Ruled(rule)),)).route(TARGET.topic)
        given = TransformSettings(dead_letters=LETTERS.topic, **settings)  # type: ignore[arg-type]
        topics = cast("TargetTopics", self.targets)
        tools = TransformTools("primary->backup", given, topics, lambda *_: self.waits)
        outgoing = Outgoing(cast("Network", None), cast("Producer", None))
        formats = _Plain()
        self.copy = TransformedCopy(
            assignment, self.point, self.targets.partition(TARGET, 1), outgoing, -1, rules or CopyRules(), True,
            Transformer(assignment, route, formats, formats), tools, 3,
        )  # fmt: skip
        self._appended: dict[TopicPartition, int] = {}

    def accept(self, *pieces: bytes) -> int:
        data = memoryview(bytearray(b"".join(pieces)))
        return self.copy.accept(Fetched(self.point, 0, 1_000, 1_000, 0, None, -1, (), data), lambda: None)

    def queued(self, where: TopicPartition = TARGET) -> list[list[Record]]:
        found = self.targets.known.get(where)
        return [list(records.decode(2, memoryview(batch.data))) for batch in found.queue] if found else []

    def append(self, where: TopicPartition = TARGET) -> None:
        """Let a partition of the target append all that waits for it."""
        queue = self.targets.known[where].queue
        while queue:
            batch = queue.popleft()
            base = self._appended.get(where, 0)
            self._appended[where] = base + batches.record_count(memoryview(batch.data))
            batch.on_appended(base)


def values(found: list[list[Record]]) -> list[list[bytes | None]]:
    return [[record.value for record in batch] for batch in found]


def changed(message: Message, number: int) -> Message:
    message.value.replace(None, b"masked %d" % number)
    return message


def only_even(message: Message, number: int) -> Message | None:
    return None if number % 2 else message


def odd_elsewhere(message: Message, number: int) -> Message:
    if number % 2:
        message.topic = ELSEWHERE.topic
    return message


def odd_fails(message: Message, number: int) -> Message:
    if number % 2:
        raise DataError("odd")
    return message


def test_records_are_gathered_over_markers() -> None:
    bench = Bench(changed)
    bench.accept(
        handmade.data(0), handmade.marker(1, 9, commit=True), handmade.data(2), handmade.marker(3, 9, commit=True)
    )
    assert values(bench.queued()) == [[b"masked 0", b"masked 2"]]
    assert not bench.copy.has_moved
    bench.append()
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset) == ((Run(0, 0, 1), Run(2, 1, 1)), 3)


def test_records_leave_as_the_transform_made_them_and_several_batches_as_one() -> None:
    bench = Bench(changed)
    assert bench.accept(handmade.data(0, 2), handmade.data(2, 2)) == 0
    assert values(bench.queued()) == [[b"masked 0", b"masked 1", b"masked 2", b"masked 3"]]
    assert not bench.copy.has_moved
    bench.append()
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, progress.last_offset, progress.dropped, position.offset) == ((Run(0, 0, 4),), 3, 0, 3)


def test_a_batch_that_nothing_changes_leaves_as_it_came() -> None:
    bench = Bench(lambda message, _: message)
    piece = handmade.batch(0, [handmade.record(b"v%d" % i + b"." * 5_000, i) for i in range(3)])
    assert bench.accept(piece) == 1
    assert isinstance(bench.targets.known[TARGET].queue[0].data, memoryview)


def test_order_is_kept_between_changed_and_untouched_batches() -> None:
    bench = Bench(lambda message, number: changed(message, number) if number in (1, 4) else message)
    bench.accept(*(handmade.data(n) for n in range(6)))
    bench.append()
    [progress], _ = bench.copy.take_progress()
    assert progress.runs == (Run(0, 0, 6),)


def test_what_is_dropped_is_counted_and_mapped() -> None:
    bench = Bench(only_even)
    bench.accept(handmade.data(0, 5))
    bench.append()
    [progress], position = bench.copy.take_progress()
    assert progress.runs == (Run(0, 0, 1), Run(2, 1, 1), Run(4, 2, 1))
    assert (progress.dropped, progress.failed, position.offset, position.target_offset) == (2, 0, 4, 2)


def test_a_tail_that_is_dropped_does_not_hold_the_position_back() -> None:
    bench = Bench(lambda message, number: message if number < 2 else None)
    bench.accept(handmade.data(0, 2), handmade.data(2, 3))
    bench.append()
    assert bench.copy.take_progress()[1].offset == 4
    bench.accept(handmade.data(5, 3))
    assert bench.copy.has_moved  # although nothing was sent
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, progress.dropped, position.offset) == ((), 3, 7)


def test_what_is_routed_elsewhere_has_runs_of_its_own() -> None:
    bench = Bench(odd_elsewhere)
    bench.accept(handmade.data(0, 4), handmade.data(4, 2))
    assert values(bench.queued(ELSEWHERE)) == [[b"v1", b"v3", b"v5"]]
    bench.append(TARGET)
    assert not bench.copy.has_moved  # the half of it would be lost with a commit now
    bench.append(ELSEWHERE)
    [own, other], position = bench.copy.take_progress()
    assert own.runs == (Run(0, 0, 1), Run(2, 1, 1), Run(4, 2, 1))
    assert (other.target, other.runs) == (ELSEWHERE, (Run(1, 0, 1), Run(3, 1, 1), Run(5, 2, 1)))
    assert (own.last_offset, other.last_offset, position.offset, position.target_offset) == (5, 5, 5, 2)


def test_partitions_of_the_target_may_answer_in_any_order() -> None:
    bench = Bench(odd_elsewhere)
    bench.accept(handmade.data(0, 4))
    bench.append(ELSEWHERE)
    assert not bench.copy.has_moved
    bench.append(TARGET)
    assert bench.copy.take_progress()[1].offset == 3


def test_a_failure_goes_to_the_dead_letters_with_its_cause() -> None:
    bench = Bench(odd_fails)
    bench.accept(handmade.data(0, 4))
    [letters] = bench.queued(LETTERS)
    assert [record.value for record in letters] == [b"v1", b"v3"]
    causes = dict(letters[1].headers)
    assert causes["__connect.errors.topic"] == b"orders"
    assert causes["__connect.errors.offset"] == b"3"
    assert causes["__connect.errors.stage"] == b"rule"
    assert causes["__connect.errors.exception.message"] == b"odd"
    bench.append(TARGET)
    bench.append(LETTERS)
    event = bench.copy.failure_event()
    assert event is not None
    assert (event.kind, event.from_offset, event.to_offset) == (EventKind.DEAD_LETTERS, 1, 4)
    [progress], position = bench.copy.take_progress()
    assert (progress.failed, position.offset) == (2, 3)
    assert bench.copy.failure_event() is None


def test_dead_letters_of_a_stage_that_hides_data_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ruled, "hides_data", True)
    bench = Bench(odd_fails)
    bench.accept(handmade.data(0, 2))
    [[letter]] = bench.queued(LETTERS)
    assert (letter.key, letter.value) == (None, None)
    shown = Bench(odd_fails, shows_content=True)
    shown.accept(handmade.data(0, 2))
    assert values(shown.queued(LETTERS)) == [[b"v1"]]


def test_told_to_stop_a_partition_stops_right_before_the_record() -> None:
    bench = Bench(odd_fails, stops_on_failure=True)
    bench.accept(handmade.data(0, 1), handmade.data(1, 3))
    assert bench.copy.failure is not None
    assert "offset 1 cannot be transformed: rule (Ruled): odd" in bench.copy.failure.reason
    bench.append()
    assert bench.copy.take_progress()[1].offset == 0
    assert LETTERS not in bench.targets.known


def test_what_may_work_in_a_moment_is_tried_again_before_it_is_given_up() -> None:
    def wait(message: Message, number: int) -> Message:
        raise RetryLater("not yet")

    bench = Bench(wait)
    bench.waits = True
    with pytest.raises(TransformWaits, match=r"orders-0 offset 0: rule \(Ruled\): not yet"):
        bench.accept(handmade.data(0, 1))
    given_up = Bench(wait)
    given_up.accept(handmade.data(0, 1))
    assert len(given_up.queued(LETTERS)) == 1


def test_a_topic_that_cannot_be_had_fails_the_record_only() -> None:
    def forbidden(message: Message, number: int) -> Message:
        message.topic = "forbidden" if number == 1 else message.topic
        return message

    bench = Bench(forbidden)
    bench.accept(handmade.data(0, 3))
    assert values(bench.queued()) == [[b"v0", b"v2"]]
    assert values(bench.queued(LETTERS)) == [[b"v1"]]


def test_a_record_that_has_grown_too_large_is_a_dead_letter_and_the_others_pass() -> None:
    def grow(message: Message, number: int) -> Message:
        message.value.replace(None, b"x" * (2_000 if number == 1 else 500))
        return message

    bench = Bench(grow, limit=1_500)
    bench.accept(handmade.data(0, 6))
    assert [len(record.value or b"") for batch in bench.queued() for record in batch] == [500] * 5
    [[letter]] = bench.queued(LETTERS)
    assert letter.value == b"v1"
    bench.append(TARGET)
    bench.append(LETTERS)
    [progress], position = bench.copy.take_progress()
    assert (progress.record_count, progress.failed, position.offset) == (5, 1, 5)


def test_headers_keys_times_and_partitions_can_change() -> None:
    def change(message: Message, number: int) -> Message:
        message.headers.append(Header("h", b"1"))
        message.key.replace_bytes(b"other")
        message.timestamp = 77
        message.partition = 2
        return message

    bench = Bench(change)
    bench.accept(handmade.data(0, 1))
    [[record]] = bench.queued(TopicPartition(TARGET.topic, 2))
    assert (record.key, record.timestamp, list(record.headers)) == (b"other", 77, [("h", b"1")])


def test_a_start_in_the_middle_of_a_batch_leaves_out_what_was_done() -> None:
    bench = Bench(changed, start=2)
    bench.accept(handmade.data(0, 4))
    assert values(bench.queued()) == [[b"masked 2", b"masked 3"]]


class _Foreign(_Plain):
    """The target has a registry of its own."""

    translates = True

    def translated(self, topic: str, data: bytes) -> bytes:
        return b"translated " + data


def test_what_nobody_changed_is_translated_where_the_target_has_its_own_registry() -> None:
    assignment = Assignment(SOURCE, TARGET)
    route = Chain((Stage("rule", Ruled(lambda message, number: changed(message, number) if number else message)),))
    transformer = Transformer(assignment, route.route(TARGET.topic), _Plain(), _Foreign())
    results = transformer.run([Record(n, 0, b"k", b"v%d" % n) for n in range(2)])
    assert [item.value for item in results if isinstance(item, Record)] == [b"translated v0", b"masked 1"]


def test_of_a_topic_that_is_dropped_no_record_passes() -> None:
    transformer = Transformer(Assignment(SOURCE, TARGET), Route(TARGET.topic, drops_all=True), _Plain(), _Plain())
    assert transformer.run([Record(n, 0, b"k", b"v") for n in range(2)]) == [None, None]
