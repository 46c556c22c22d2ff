"""The offset map: exact where it can be, never later than exact, whatever has happened."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord
from heliograph.ledger.map_records import Pair, decode, page_key
from heliograph.ledger.offset_map import OffsetMap, PartitionMap, Place
from heliograph.model import EventKind, LedgerEntry, Position, Run, TopicPartition
from tests.ledger.mirror_model import SOURCE, TARGET, MirrorModel, entry, event


def map_of(*entries: LedgerEntry | None, **sizes: int) -> OffsetMap:
    """None stands for another owner."""
    made = OffsetMap(**sizes)
    for item in entries:
        if item is None:
            made.owner_changed()
        else:
            made.add(item)
    return made


def test_nothing_is_known_of_a_partition_that_was_never_mirrored() -> None:
    assert OffsetMap().to_target(SOURCE, 0) is None
    assert OffsetMap().to_source(SOURCE, 0) is None


def test_inside_a_run_answers_are_exact_both_ways() -> None:
    offsets = map_of(entry([Run(100, 7, 10)]))
    assert offsets.to_target(SOURCE, 104) == Place(11, True)
    assert offsets.to_source(SOURCE, 11) == Place(104, True)


def test_a_copy_of_some_partitions_stays_as_it_was() -> None:
    offsets = map_of(entry([Run(100, 7, 10)]), entry([Run(110, 20, 10)]), page_runs=1)
    offsets.set_position(SOURCE, Position(119, 29))
    kept, other = offsets.copy_of({SOURCE}), offsets.copy_of(set())
    offsets.add(entry([Run(120, 40, 10)]))
    offsets.set_position(SOURCE, Position(129, 49), False)
    assert [kept.to_target(SOURCE, offset) for offset in (104, 119, 125)] == [
        Place(11, True), Place(29, True), Place(30, False),
    ]  # fmt: skip
    assert other.to_target(SOURCE, 104) is None
    assert offsets.is_replaced(SOURCE)
    assert not kept.is_replaced(SOURCE)


def test_what_was_passed_over_leads_to_the_record_after_it() -> None:
    offsets = map_of(entry([Run(0, 0, 10)], last_offset=14), entry([Run(15, 12, 5)]))
    assert [offsets.to_target(SOURCE, offset) for offset in (9, 10, 14, 15)] == [
        Place(9, True), Place(12, True), Place(12, True), Place(12, True),
    ]  # fmt: skip
    assert offsets.to_source(SOURCE, 11) == Place(15, True)


def test_a_group_at_the_end_goes_on_after_the_last_record() -> None:
    offsets = map_of(entry([Run(0, 0, 10)], last_offset=11))
    assert offsets.to_target(SOURCE, 10) == offsets.to_target(SOURCE, 12) == Place(10, True)
    assert offsets.to_source(SOURCE, 10) == Place(12, True)


def test_a_group_on_the_target_is_still_at_the_end_when_it_has_passed_the_transaction_marker() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]))
    assert offsets.to_source(SOURCE, 11) == Place(10, True)
    assert offsets.to_source(SOURCE, 12) == Place(10, False)


def test_a_group_ahead_of_the_mirror_waits_at_the_end() -> None:
    assert map_of(entry([Run(0, 0, 10)])).to_target(SOURCE, 11) == Place(10, False)


def test_before_everything_known_the_answer_is_the_earliest() -> None:
    offsets = map_of(entry([Run(100, 50, 10)]))
    assert offsets.to_target(SOURCE, 99) == Place(0, False)
    assert offsets.to_source(SOURCE, 49) == Place(0, False)


def test_what_the_target_begins_with_is_exact_for_all_before_it() -> None:
    assert map_of(entry([Run(100, 0, 10)])).to_target(SOURCE, 3) == Place(0, True)


def test_between_owners_another_mirror_may_have_copied() -> None:
    offsets = map_of(entry([Run(0, 0, 10)], last_offset=11), None, entry([Run(20, 18, 5)]))
    assert offsets.to_target(SOURCE, 12) == Place(10, True)
    assert offsets.to_target(SOURCE, 13) == offsets.to_target(SOURCE, 19) == Place(10, False)
    assert offsets.to_source(SOURCE, 17) == Place(12, False)
    assert offsets.to_target(SOURCE, 20) == Place(18, True)


def test_passing_over_records_does_not_tell_what_another_mirror_copied() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]), None, entry(last_offset=19), entry([Run(20, 18, 5)]))
    assert offsets.to_target(SOURCE, 15) == Place(10, False)


def test_a_restart_without_a_gap_costs_nothing() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]), None, entry([Run(10, 11, 5)]))
    assert offsets.to_target(SOURCE, 10) == Place(11, True)


def test_a_new_topic_of_the_same_name_begins_after_all_that_was_mirrored_before() -> None:
    old, recreated = entry([Run(0, 0, 100)]), entry(events=[event(EventKind.RECREATED, 100, -1)])
    assert map_of(old, recreated).to_target(SOURCE, 50) == Place(100, False)
    offsets = map_of(old, recreated, entry([Run(3, 101, 10)]))
    assert offsets.to_target(SOURCE, 0) == Place(101, True)
    assert offsets.to_target(SOURCE, 5) == Place(103, True)
    assert offsets.to_target(SOURCE, 50) == Place(111, False)
    assert offsets.to_source(SOURCE, 50) == Place(3, True)


def test_one_transaction_may_hold_runs_of_the_old_topic_and_of_the_new_one() -> None:
    both = entry([Run(90, 90, 10), Run(0, 100, 5)], 4, events=[event(EventKind.RECREATED, 100, -1)])
    assert map_of(entry([Run(0, 0, 90)]), both).to_target(SOURCE, 2) == Place(102, True)


def test_truncation_takes_back_what_the_source_has_lost() -> None:
    truncated = entry(events=[event(EventKind.TRUNCATION, 60, 100)])
    offsets = map_of(entry([Run(0, 0, 100)]), truncated, entry([Run(60, 101, 5)]))
    assert offsets.to_target(SOURCE, 59) == Place(59, True)
    assert offsets.to_target(SOURCE, 60) == Place(101, True)
    assert offsets.to_source(SOURCE, 80) == Place(60, True)


def test_after_a_truncation_at_an_unknown_place_nothing_older_answers() -> None:
    offsets = map_of(entry([Run(0, 0, 100)]), entry(events=[event(EventKind.TRUNCATION, 100, 100)]))
    assert offsets.to_target(SOURCE, 5) == Place(0, False)
    assert offsets.to_source(SOURCE, 5) == Place(0, False)
    assert offsets.to_target(SOURCE, 100) == Place(100, True)


def test_what_is_copied_once_more_is_looked_for_where_it_is_now() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]), None, entry([Run(5, 11, 3)]))
    assert offsets.to_target(SOURCE, 4) == Place(4, True)
    assert offsets.to_target(SOURCE, 6) == Place(12, True)
    assert offsets.to_target(SOURCE, 9) == Place(14, False)
    assert offsets.to_source(SOURCE, 8) == Place(5, True)


def test_truncation_among_what_another_mirror_copied_makes_it_no_better_known() -> None:
    truncated = entry(events=[event(EventKind.TRUNCATION, 15, 25)])
    offsets = map_of(entry([Run(0, 0, 10)]), None, entry([Run(20, 21, 5)]), truncated)
    assert offsets.to_target(SOURCE, 13) == Place(10, False)


def test_what_another_mirror_copied_before_a_truncation_may_still_lie_at_the_end() -> None:
    truncated = entry(events=[event(EventKind.TRUNCATION, 1, 2)])
    offsets = map_of(entry([Run(0, 0, 1)]), None, truncated, entry([Run(2, 3, 1)]))
    assert offsets.to_target(SOURCE, 1) == Place(1, False)


def test_another_mirror_may_have_begun_with_a_new_topic() -> None:
    recreated = entry(events=[event(EventKind.RECREATED, 100, -1)])
    began = [entry([Run(0, 0, 100)]), recreated, None, entry([Run(10, 111, 5)])]
    assert map_of(*began).to_target(SOURCE, 3) == Place(0, False)
    truncated = entry(events=[event(EventKind.TRUNCATION, 5, 15)])
    assert map_of(*began, truncated).to_target(SOURCE, 3) == Place(0, False)


@pytest.mark.parametrize("kind", [EventKind.RETENTION, EventKind.SET_ASIDE, EventKind.RESUMED])
def test_other_events_change_nothing(kind: EventKind) -> None:
    offsets = map_of(entry([Run(0, 0, 10)]), entry(events=[event(kind, 10, 20)]), entry([Run(20, 11, 5)]))
    assert offsets.to_target(SOURCE, 5) == Place(5, True)
    assert offsets.to_target(SOURCE, 15) == Place(11, True)


def test_a_target_that_was_created_anew_has_nothing_of_before() -> None:
    offsets = map_of(entry([Run(0, 0, 100)]), entry([Run(100, 0, 10)]))
    assert offsets.to_target(SOURCE, 5) == Place(0, True)
    assert offsets.to_target(SOURCE, 105) == Place(5, True)


def test_another_target_topic_has_nothing_of_the_former_one() -> None:
    other = TopicPartition("other.orders", 0)
    offsets = map_of(entry([Run(0, 50, 10)]), entry([Run(10, 60, 5)], target=other))
    assert offsets.to_target(SOURCE, 5) == Place(0, False)


def test_a_position_answers_for_a_partition_that_the_ledger_has_forgotten() -> None:
    offsets = OffsetMap()
    offsets.set_position(SOURCE, Position(99, 49))
    assert [offsets.to_target(SOURCE, offset) for offset in (99, 100, 101)] == [
        Place(0, False), Place(50, True), Place(50, False),
    ]  # fmt: skip
    assert [offsets.to_source(SOURCE, offset) for offset in (49, 50, 51, 52)] == [
        Place(0, False), Place(100, True), Place(100, True), Place(100, False),
    ]  # fmt: skip


def test_a_position_leads_further_than_the_ledger_or_not_at_all() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]))
    offsets.set_position(SOURCE, Position(4, 4))
    assert offsets.to_target(SOURCE, 10) == Place(10, True)
    offsets.set_position(SOURCE, Position(99, 49))
    assert offsets.to_target(SOURCE, 5) == Place(5, True)
    assert offsets.to_target(SOURCE, 50) == Place(10, False)
    assert offsets.to_target(SOURCE, 100) == Place(50, True)
    offsets.set_position(SOURCE, Position(199))  # MirrorMaker 2 does not tell where its records went
    assert offsets.to_target(SOURCE, 200) == Place(10, False)


def test_a_position_in_a_topic_that_was_replaced_answers_for_nothing_but_the_end() -> None:
    offsets = map_of(entry([Run(0, 0, 10)]))
    offsets.set_position(SOURCE, Position(9, 9), is_of_current_topic=False)
    assert offsets.to_target(SOURCE, 5) == offsets.to_target(SOURCE, 10) == Place(10, False)
    assert offsets.to_source(SOURCE, 5) == Place(0, False)
    offsets.set_position(SOURCE, Position(9, 9))
    assert offsets.to_target(SOURCE, 5) == Place(5, True)


def test_neighbouring_runs_become_one() -> None:
    partition = PartitionMap(TARGET)
    for start in range(0, 1000, 10):
        [progress] = entry([Run(start, start + 5, 10)]).partitions
        partition.add(progress)
    assert len(partition) == 1


def test_all_runs_of_a_long_history_stay_exact_and_take_little_memory() -> None:
    """As of a slow flow: each transaction brings one to three records and ends with a marker."""
    partition, chance, target, ends = PartitionMap(TARGET), random.Random(1), 0, []
    for _ in range(100_000):
        length = chance.choice((1, 1, 1, 2, 2, 3))
        source = ends[-1][0] if ends else 0
        [progress] = entry([Run(source, target, length)]).partitions
        partition.add(progress)
        ends.append((source + length, target + length))
        target += length + 1
    assert partition.packed_bytes < 0.5 * len(partition)
    for source, image in [(0, 0), *chance.sample(ends, 1000)]:
        place = partition.to_target(source)
        assert place.is_exact
        assert place.offset - image in (0, 1), "the end of a run, or the marker behind it"


def test_beyond_the_limit_old_runs_thin_out_and_new_ones_stay_exact() -> None:
    offsets = OffsetMap(packed_bytes=2_000, page_runs=50)
    for number in range(10_000):
        offsets.add(entry([Run(number * 10, number * 20 + number % 7, 10)]))
    for offset in range(99_700, 100_000):
        number = offset // 10
        assert offsets.to_target(SOURCE, offset) == Place(number * 20 + number % 7 + offset % 10, True)
    old = [offsets.to_target(SOURCE, offset) for offset in range(0, 50_000, 25)]
    assert not all(place.is_exact for place in old if place)
    assert all(place and place.offset <= 25 * index // 10 * 20 + 6 + 9 for index, place in enumerate(old))


# -- any history -------------------------------------------------------------------------------------------

_records = st.lists(st.sampled_from([True, True, True, False]), min_size=1, max_size=12)
_counts = st.integers(0, 15)


def _step(name: str, *arguments: st.SearchStrategy[object]) -> st.SearchStrategy[Callable[[MirrorModel], None]]:
    return st.tuples(*arguments).map(lambda values: lambda model: getattr(model, name)(*values))


_steps = st.one_of(
    _step("produce", _records), _step("produce", _records), _step("mirror", _counts), _step("mirror", _counts),
    _step("mirror", _counts, st.integers(0, 3)), _step("restart"), _step("other_mirror", _counts),
    _step("truncate", st.integers(0, 40)), _step("recreate"), _step("copy_again", st.integers(0, 40)),
)  # fmt: skip
histories = st.lists(_steps, max_size=40)


def played(history: Sequence[Callable[[MirrorModel], None]]) -> MirrorModel:
    model = MirrorModel()
    for step in history:
        step(model)
    return model


def check(model: MirrorModel, offsets: OffsetMap) -> None:
    """Never later than exact; exact where it says so; in order."""
    last = Place(0, False)
    for offset in range(len(model.source) + 4):
        place, right = offsets.to_target(SOURCE, offset), model.target_place(offset)
        assert place is not None
        assert last.offset <= place.offset <= right, (offset, place, right)
        assert not (place.is_exact and model.repeats_on_target(place.offset, right)), (offset, place, right)
        last = place
    last = Place(0, False)
    for offset in range(len(model.target) + 4):
        place, right = offsets.to_source(SOURCE, offset), model.source_place(offset)
        assert place is not None
        assert last.offset <= place.offset <= right, ("back", offset, place, right)
        assert not (place.is_exact and model.repeats_on_source(place.offset, right)), ("back", offset, place, right)
        last = place


@settings(max_examples=300, deadline=None)
@given(histories)
def test_no_history_makes_answers_late_or_wrongly_exact(history: Sequence[Callable[[MirrorModel], None]]) -> None:
    model = played(history)
    offsets = map_of(*model.ledger)
    if offsets.to_target(SOURCE, 0) is not None:
        check(model, offsets)


@settings(max_examples=300, deadline=None)
@given(histories, st.integers(0, 10))
def test_nor_does_a_ledger_that_has_lost_its_beginning(
    history: Sequence[Callable[[MirrorModel], None]], lost: int
) -> None:
    model = played(history)
    offsets = map_of(*model.ledger[lost:])
    if offsets.to_target(SOURCE, 0) is not None:
        check(model, offsets)


@settings(max_examples=300, deadline=None)
@given(histories, st.integers(1, 5))
def test_nor_do_pages(history: Sequence[Callable[[MirrorModel], None]], page_runs: int) -> None:
    """Whatever the size of a page, all answers are those of a map that has a single one."""
    model = played(history)
    whole, paged = map_of(*model.ledger), map_of(*model.ledger, page_runs=page_runs)
    for offset in range(max(len(model.source), len(model.target)) + 4):
        assert paged.to_target(SOURCE, offset) == whole.to_target(SOURCE, offset)
        assert paged.to_source(SOURCE, offset) == whole.to_source(SOURCE, offset)
        assert paged.passed_on_target(SOURCE, offset) == whole.passed_on_target(SOURCE, offset)
        assert paged.passed_on_source(SOURCE, offset) == whole.passed_on_source(SOURCE, offset)


@settings(max_examples=300, deadline=None)
@given(histories, st.integers(1, 3), st.integers(0, 60))
def test_nor_does_thinning_out(history: Sequence[Callable[[MirrorModel], None]], page_runs: int, limit: int) -> None:
    model = played(history)
    offsets = map_of(*model.ledger, packed_bytes=limit, page_runs=page_runs)
    if offsets.to_target(SOURCE, 0) is not None:
        check(model, offsets)


@settings(max_examples=300, deadline=None)
@given(histories, st.integers(0, 10))
def test_nor_do_positions(history: Sequence[Callable[[MirrorModel], None]], lost: int) -> None:
    model = played(history)
    offsets = map_of(*model.ledger[lost:])
    offsets.set_position(SOURCE, model.stored_position)
    if offsets.to_target(SOURCE, 0) is not None:
        check(model, offsets)


_quiet = st.lists(
    st.one_of(_step("produce", _records), _step("mirror", _counts, st.integers(0, 3)), _step("restart")), max_size=60
)


@settings(max_examples=300, deadline=None)
@given(_quiet)
def test_every_mirrored_offset_is_exact_and_comes_back(history: Sequence[Callable[[MirrorModel], None]]) -> None:
    model = played(history)
    offsets = map_of(*model.ledger)
    for source, image in model.images.items():
        assert offsets.to_target(SOURCE, source) == Place(image, True)
        assert offsets.to_source(SOURCE, image) == Place(source, True)


def test_the_model_itself_can_tell_a_wrong_map() -> None:
    model = played([lambda m: m.produce([True] * 10), lambda m: m.mirror(10)])
    [good] = model.ledger
    assert good is not None
    check(model, map_of(good))
    late = replace(good, partitions=(replace(good.partitions[0], runs=(Run(0, 1, 10),)),))
    with pytest.raises(AssertionError):
        check(model, map_of(late))


def test_what_the_target_has_lost_leads_to_the_record_after_it() -> None:
    before = [entry([Run(0, 0, 10)]), entry([Run(10, 11, 10)])]
    lost = entry(events=[event(EventKind.TARGET_LOSS, 15, 21)])
    offsets = map_of(*before, lost)
    assert [offsets.to_target(SOURCE, offset) for offset in (5, 13, 14, 19, 20)] == [
        Place(5, True), Place(14, True), Place(15, True), Place(15, True), Place(15, True),
    ]  # fmt: skip
    assert offsets.to_target(SOURCE, 21) == Place(15, False), "not mirrored yet"
    offsets.add(entry([Run(20, 15, 5)]))
    assert [offsets.to_target(SOURCE, offset) for offset in (5, 14, 19, 22)] == [
        Place(5, True), Place(15, True), Place(15, True), Place(17, True),
    ]  # fmt: skip
    assert offsets.to_source(SOURCE, 16) == Place(21, True)


@pytest.mark.parametrize(
    "retold", [[Run(0, 0, 10), Run(15, 12, 5)], [Run(15, 12, 8)], [Run(16, 13, 2), Run(18, 15, 9)]]
)
def test_what_is_told_twice_changes_nothing(retold: list[Run]) -> None:
    """A lane may end when its ledger entry is written and its position is not; whoever follows tells it all again."""
    told = [entry([Run(0, 0, 10)], last_offset=14), entry([Run(15, 12, 5)])]
    [end] = [run.source + run.length for run in retold[-1:]]
    expected = map_of(*told, entry([Run(20, 17, end - 20)]) if end > 20 else entry([], last_offset=19))
    for owner in ([], [None]):
        offsets = map_of(*told, *owner, entry(retold))
        for offset in range(end + 1):
            assert offsets.to_target(SOURCE, offset) == expected.to_target(SOURCE, offset)
            assert offsets.to_source(SOURCE, offset) == expected.to_source(SOURCE, offset)


def test_a_target_that_was_created_anew_begins_again() -> None:
    offsets = map_of(entry([Run(0, 3, 10)]), entry(events=[event(EventKind.TARGET_LOSS, 0, 13)]))
    assert offsets.to_target(SOURCE, 5) == Place(0, False), "what was there before the ledger began is not known"
    offsets.add(entry([Run(10, 0, 10)]))
    assert [offsets.to_target(SOURCE, offset) for offset in (5, 12)] == [Place(0, True), Place(2, True)]


ELSEWHERE = TopicPartition("elsewhere", 3)


def routed(own: Sequence[Run], other: Sequence[Run], last_offset: int, begins_at: int = -1) -> LedgerEntry:
    """A transaction that sent some records to the partition's own target and some elsewhere."""
    made = entry(own, last_offset=last_offset)
    [progress] = made.partitions
    mine = replace(progress, begins_at=begins_at)
    return replace(made, partitions=(mine, replace(mine, target=ELSEWHERE, runs=tuple(other))))


def test_records_that_were_sent_elsewhere_are_found_there() -> None:
    offsets = map_of(routed([Run(0, 0, 1), Run(2, 1, 1)], [Run(1, 0, 1), Run(3, 1, 1)], last_offset=3, begins_at=0))
    assert [offsets.to_target(SOURCE, offset) for offset in range(5)] == [
        Place(0, True), Place(1, True), Place(1, True), Place(2, True), Place(2, True),
    ]  # fmt: skip
    assert [offsets.to_targets_elsewhere(SOURCE, offset)[ELSEWHERE] for offset in range(5)] == [
        Place(0, True), Place(0, True), Place(1, True), Place(1, True), Place(2, True),
    ]  # fmt: skip


def test_what_goes_elsewhere_no_more_is_known_to_end_there() -> None:
    offsets = map_of(routed([], [Run(0, 0, 5)], last_offset=4, begins_at=0), entry([Run(5, 0, 5)]))
    assert offsets.to_targets_elsewhere(SOURCE, 10) == {ELSEWHERE: Place(5, True)}
    assert offsets.to_target(SOURCE, 2) == Place(0, True)


def test_a_target_that_appears_later_begins_with_its_first_record() -> None:
    """Of a flow that is known from its beginning; else somebody may have written there before."""
    known = map_of(replace_begin(entry([Run(0, 0, 5)])), routed([], [Run(5, 40, 5)], last_offset=9))
    assert known.to_targets_elsewhere(SOURCE, 2) == {ELSEWHERE: Place(40, True)}
    unknown = map_of(entry([Run(100, 70, 5)]), routed([], [Run(105, 40, 5)], last_offset=109))
    assert unknown.to_targets_elsewhere(SOURCE, 2) == {ELSEWHERE: Place(0, False)}


def replace_begin(made: LedgerEntry) -> LedgerEntry:
    return replace(made, partitions=tuple(replace(item, begins_at=0) for item in made.partitions))


def test_a_topic_that_was_created_anew_is_forgotten_everywhere() -> None:
    offsets = map_of(
        routed([Run(0, 0, 1)], [Run(1, 0, 1)], last_offset=1, begins_at=0),
        entry(events=[event(EventKind.RECREATED, 0, 0)]),
    )
    offsets.add(routed([], [Run(0, 1, 4)], last_offset=3))
    assert offsets.to_targets_elsewhere(SOURCE, 0) == {ELSEWHERE: Place(1, True)}


# -- as records of a compacted topic -----------------------------------------------------------------------


@settings(max_examples=500, deadline=None)
@given(histories, st.integers(1, 5), st.integers(0, 400), st.randoms(use_true_random=False))
def test_a_map_that_is_read_back_again_and_again_answers_as_one_that_never_was(
    history: Sequence[Callable[[MirrorModel], None]], page_runs: int, limit: int, luck: random.Random
) -> None:
    model, topic = played(history), dict[bytes, bytes]()
    kept = OffsetMap(limit, page_runs)
    restored = OffsetMap(limit, page_runs)
    for told in model.ledger:
        for one in (kept, restored):
            one.owner_changed() if told is None else one.add(told)
        if luck.random() < 0.3:
            restored = _read_back(topic, restored, limit, page_runs)
    for offset in range(max(len(model.source), len(model.target)) + 4):
        assert restored.to_target(SOURCE, offset) == kept.to_target(SOURCE, offset)
        assert restored.to_source(SOURCE, offset) == kept.to_source(SOURCE, offset)
        assert restored.passed_on_target(SOURCE, offset) == kept.passed_on_target(SOURCE, offset)
        assert restored.passed_on_source(SOURCE, offset) == kept.passed_on_source(SOURCE, offset)


def _read_back(topic: dict[bytes, bytes], offsets: OffsetMap, limit: int, page_runs: int) -> OffsetMap:
    for key, value in offsets.take_changes().items():
        if value is None:
            topic.pop(key, None)
        else:
            topic[key] = value
    made = OffsetMap(limit, page_runs).restored(decode(topic))
    assert made.take_changes() == {}
    return made


def test_what_nobody_asks_for_any_more_leaves_no_record() -> None:
    runs = [entry([Run(number * 3, number * 4, 2)]) for number in range(10)]
    offsets, topic = map_of(*runs, page_runs=2), dict[bytes, bytes]()
    _read_back(topic, offsets, 1_000_000, 2)
    assert len(topic) == 6  # five pages and a head
    offsets.forget(lambda pair: pair.source == SOURCE)
    _read_back(topic, offsets, 1_000_000, 2)
    assert topic == {}
    assert offsets.to_target(SOURCE, 5) is None


def test_what_the_target_has_deleted_leaves_only_the_pages_behind_it() -> None:
    runs = [entry([Run(number * 3, number * 4, 2)]) for number in range(10)]
    offsets, topic = map_of(*runs, page_runs=2), dict[bytes, bytes]()
    offsets.forget_before({TARGET: 17})
    restored = _read_back(topic, offsets, 1_000_000, 2)
    assert len(topic) == 4
    assert restored.to_target(SOURCE, 13) == offsets.to_target(SOURCE, 13) == Place(17, True)


def test_behind_a_page_that_is_missing_nothing_is_exact_before_its_end() -> None:
    runs = [entry([Run(number * 3, number * 4, 2)]) for number in range(10)]
    offsets, topic = map_of(*runs, page_runs=2), dict[bytes, bytes]()
    _read_back(topic, offsets, 1_000_000, 2)
    del topic[page_key(Pair(SOURCE, TARGET), 2)]
    restored = OffsetMap(page_runs=2).restored(decode(topic))
    assert restored.to_target(SOURCE, 13) == Place(0, False)
    assert restored.to_target(SOURCE, 19) == Place(25, True)


def test_records_of_a_newer_version_are_refused() -> None:
    _, head = next(iter(map_of(entry([Run(0, 0, 5)])).take_changes().items()))
    with pytest.raises(MalformedRecord, match="newer version of Heliograph"):
        decode({b"h": bytes([2]) + (head or b"")[1:]})
