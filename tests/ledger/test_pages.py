"""Packed pages hold what the plain columns held, and are written again only where something has changed."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.ledger.pages import Columns, Noted, Page, Pages, unpacked
from heliograph.model import Run

_far = st.integers(0, 2**62)
_steps = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 3), st.integers(1, 2**33), st.integers(0, 2)))


def _runs(steps: Sequence[tuple[int, int, int, int]], source: int = 0, target: int = 0) -> list[Noted]:
    made = []
    for to_source, to_target, length, gap in steps:
        source, target = source + to_source, target + to_target
        made.append(Noted(Run(source, target, length), gap))
        source, target = source + length, target + length
    return made


@given(_far, _far, _steps)
def test_what_is_packed_comes_back(source: int, target: int, steps: list[tuple[int, int, int, int]]) -> None:
    columns = Columns()
    for noted in _runs(steps, source, target):
        columns.append(noted)
    first = columns[0].run if len(columns) else Run(0, 0, 0)
    assert list(unpacked(columns.packed(), len(columns), first.source, first.target)) == list(columns)


def _pages_of(some: Sequence[Noted], page_runs: int) -> Pages:
    pages = Pages(page_runs)
    for noted in some:
        pages.append(*noted)
    return pages


class _Topic:
    """What a compacted topic holds of the pages of a partition."""

    def __init__(self) -> None:
        self.records: dict[int, Page] = {}
        self.written = 0

    def write(self, pages: Pages) -> None:
        for number, page in pages.take_changes().items():
            self.written += 1
            if page is None:
                self.records.pop(number, None)
            else:
                self.records[number] = page


_changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("lengthen_last"), st.integers(1, 9)),
        st.tuples(st.just("cut"), st.integers(0, 120)),
        st.tuples(st.just("forget_before"), st.integers(0, 120)),
        st.tuples(st.just("write"), st.just(0)),
        st.sampled_from([("clear", 0), ("thin_out", 0)]),
    ),
    max_size=60,
)


@settings(max_examples=500)
@given(_changes, st.integers(1, 4))
def test_what_was_written_is_the_same_as_what_is_held(changes: list[tuple[str, int]], page_runs: int) -> None:
    pages, topic, end = Pages(page_runs), _Topic(), 0
    for name, number in changes:
        if name == "append":
            pages.append(Run(end, end, number), number % 3)
        elif name == "lengthen_last":
            if pages.last is not None:
                pages.lengthen_last(number)
        elif name == "thin_out":
            pages.thin_out(2)
        elif name == "clear":
            pages.clear()
        elif name == "write":
            topic.write(pages)
        else:
            getattr(pages, name)(number)
        end = pages.last.source + pages.last.length + 1 if pages.last else end
    topic.write(pages)
    restored = Pages.restored(topic.records, page_runs)
    assert list(restored) == list(pages)
    assert (len(restored), restored.packed_bytes) == (len(pages), pages.packed_bytes)
    restored.append(Run(end, end, 5), 0)
    pages.append(Run(end, end, 5), 0)
    topic.write(restored)
    assert list(Pages.restored(topic.records, page_runs)) == list(pages)


def test_only_pages_that_have_changed_are_written_again() -> None:
    pages, topic = _pages_of(_runs([(1, 0, 1, 0)] * 1000), 100), _Topic()
    topic.write(pages)
    assert topic.written == 10
    pages.append(Run(5000, 5000, 1), 0)
    topic.write(pages)
    assert topic.written == 11, "the new page; the one before it is full and stays as it is"
    pages.lengthen_last(3)
    topic.write(pages)
    assert topic.written == 12
    topic.write(pages)
    assert topic.written == 12


def test_pages_that_nobody_can_read_any_more_are_dropped() -> None:
    pages, topic = _pages_of(_runs([(0, 1, 1, 0)] * 1000), 100), _Topic()
    topic.write(pages)
    pages.forget_before(pages.around(450)[0].run.target)  # type: ignore[union-attr]
    topic.write(pages)
    assert sorted(topic.records) == [4, 5, 6, 7, 8, 9]
    assert pages.around(0) == (None, pages.around(400)[0])
    assert len(Pages.restored(topic.records, 100)) == 600


def test_where_a_page_is_missing_all_before_it_is_unknown() -> None:
    pages, topic = _pages_of(_runs([(0, 1, 1, 0)] * 1000), 100), _Topic()
    topic.write(pages)
    del topic.records[6]
    restored = Pages.restored(topic.records, 100)
    assert list(restored) == list(pages)[700:]
    assert not len(Pages.restored({}))
