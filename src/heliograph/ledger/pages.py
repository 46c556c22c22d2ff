"""Runs of offsets, packed in pages: the runs of months take little memory, and a page fits in a record.

A page keeps columns of numbers. What is written of them are differences (a run mostly begins where the one before it
ended, or one transaction marker later) byte by byte: all lowest bytes, then all second ones. Most of that is zeros,
which zstd makes almost nothing of. A run of a slow flow takes a third of a byte, one of a busy flow about two.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate, chain
from operator import add, attrgetter, sub
from typing import NamedTuple

import cramjam

from heliograph.model import Run

PAGE_RUNS = 1024
_WIDTH = 8  # bytes of a number in a column
_UNPACKED_PAGES = 64  # that are kept for the next question


class Noted(NamedTuple):
    """A run, and what is known of the gap before it."""

    run: Run
    gap: int


class Columns:
    """Some runs in the order of their offsets."""

    def __init__(self) -> None:
        self.sources = array("q")
        self.targets = array("q")
        self.lengths = array("q")
        self.gaps = bytearray()

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, index: int) -> Noted:
        return Noted(Run(self.sources[index], self.targets[index], self.lengths[index]), self.gaps[index])

    def __iter__(self) -> Iterator[Noted]:
        return map(Noted, map(Run, self.sources, self.targets, self.lengths), self.gaps)

    def append(self, noted: Noted) -> None:
        """Add a run behind the others."""
        run, gap = noted
        self.sources.append(run.source)
        self.targets.append(run.target)
        self.lengths.append(run.length)
        self.gaps.append(gap)

    def copy(self) -> Columns:
        """The same runs, whatever becomes of these."""
        made = Columns()
        made.sources, made.targets = self.sources[:], self.targets[:]
        made.lengths, made.gaps = self.lengths[:], self.gaps[:]
        return made

    def delete(self, some: slice) -> None:
        """Drop runs."""
        for column in (self.sources, self.targets, self.lengths, self.gaps):
            del column[some]

    def packed(self) -> bytes:
        """All but where the first run begins, which `unpacked` must be told."""
        from_source, from_target = (_steps(column, self.lengths) for column in (self.sources, self.targets))
        planes = chain.from_iterable(map(_planes, (self.lengths, from_source, from_target)))
        return bytes(cramjam.zstd.compress(bytes(self.gaps) + b"".join(planes)))


@lru_cache(_UNPACKED_PAGES)
def unpacked(data: bytes, count: int, source: int, target: int) -> Columns:
    """The runs of a page; they are shared by all who ask, so nobody must change them."""
    content = bytes(cramjam.zstd.decompress(data))
    lengths, from_source, from_target = (_column(content, count, number) for number in range(3))
    columns = Columns()
    columns.gaps = bytearray(content[:count])
    columns.lengths = lengths
    columns.sources = _sums(source, from_source, lengths)
    columns.targets = _sums(target, from_target, lengths)
    return columns


def _steps(starts: array[int], lengths: array[int]) -> array[int]:
    """How far behind the end of the run before it each run begins; the first: 0."""
    steps = array("q", [0] if starts else [])
    steps.extend(map(sub, starts[1:], map(add, starts, lengths)))
    return steps


def _sums(start: int, steps: array[int], lengths: array[int]) -> array[int]:
    return array("q", accumulate(map(add, steps[1:], lengths), initial=start)) if steps else array("q")


def _planes(column: array[int]) -> Iterator[bytes]:
    data = _as_little_endian(column).tobytes()
    return (data[place::_WIDTH] for place in range(_WIDTH))


def _column(content: bytes, count: int, number: int) -> array[int]:
    data = bytearray(count * _WIDTH)
    for place in range(_WIDTH):
        start = count * (1 + number * _WIDTH + place)
        data[place::_WIDTH] = content[start : start + count]
    column = array("q")
    column.frombytes(bytes(data))
    return _as_little_endian(column)


def _as_little_endian(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column = array("q", column)
        column.byteswap()
    return column


class Page(NamedTuple):
    """Runs that are packed."""

    first: Noted
    runs: int
    data: bytes

    @property
    def source(self) -> int:
        """The first offset of the source in it."""
        return self.first.run.source

    @property
    def target(self) -> int:
        """The first offset of the target in it."""
        return self.first.run.target

    def columns(self) -> Columns:
        """Its runs, not to be changed."""
        return unpacked(self.data, self.runs, self.source, self.target)


class Pages:
    """All runs of one partition: packed pages, and an open one at the end. Pages have numbers that they keep."""

    def __init__(self, page_runs: int = PAGE_RUNS) -> None:
        self._page_runs = page_runs
        self._packed: list[Page] = []
        self._open = Columns()
        self._first_number = 0
        self._runs = 0  # in packed pages
        self.packed_bytes = 0
        self._changed: set[int] = {0}

    def copy(self) -> Pages:
        """The same runs, whatever becomes of these; packed pages never change, so both have them."""
        made = Pages(self._page_runs)
        made.__dict__.update(self.__dict__)
        made._packed, made._open, made._changed = self._packed[:], self._open.copy(), self._changed.copy()
        return made

    def __len__(self) -> int:
        return self._runs + len(self._open)

    def __iter__(self) -> Iterator[Noted]:
        for page in self._packed:
            yield from page.columns()
        yield from self._open

    @property
    def last(self) -> Run | None:
        """The run with the highest offsets."""
        return self._open[-1].run if len(self._open) else None

    # -- changes -------------------------------------------------------------------------------------------

    def append(self, run: Run, gap: int) -> None:
        """Add a run behind the others."""
        if len(self._open) >= self._page_runs:
            self._close()
        self._open.append(Noted(run, gap))
        self.touch()

    def lengthen_last(self, length: int) -> None:
        """The last run has so many records more."""
        self._open.lengths[-1] += length
        self.touch()

    def touch(self) -> None:
        """The last page must be written again."""
        self._changed.add(self.last_number)

    def cut(self, source: int) -> int | None:
        """Drop all runs that begin at an offset of the source or behind it; what was known of the gap before them."""
        changed_from = self.last_number
        dropped: int | None = None
        while self._packed and (not len(self._open) or self._open.sources[0] >= source):
            dropped = self._open.gaps[0] if len(self._open) else dropped
            self._reopen()
        first = bisect_left(self._open.sources, source)
        if first < len(self._open):
            dropped = self._open.gaps[first]
            self._open.delete(slice(first, None))
        self._changed.update(range(self.last_number, changed_from + 1))
        if self.last is not None:
            self._open.lengths[-1] = min(self.last.length, source - self.last.source)
        return dropped

    def clear(self) -> None:
        """Drop all runs."""
        self._changed.update(range(self._first_number, self.last_number + 1))
        self._packed.clear()
        self._open = Columns()
        self._runs = self.packed_bytes = 0
        self.touch()

    def thin_out(self, vague: int) -> None:
        """Drop every second run of the older half; `vague` is what is known of the gaps then."""
        numbers = range(self._first_number, self.last_number + 1)
        dropped = range(1, len(self) // 2, 2)
        kept = [
            Noted(noted.run, vague) if index - 1 in dropped else noted
            for index, noted in enumerate(self)
            if index not in dropped
        ]
        self.clear()
        for noted in kept:
            self.append(*noted)
        self._changed.update(numbers, range(self._first_number, self.last_number + 1))

    def forget_before(self, target: int) -> None:
        """Drop the pages that lie wholly before an offset of the target: nobody can read there any more."""
        while self._packed and (self._packed[1] if len(self._packed) > 1 else self._open_page).target <= target:
            page = self._packed.pop(0)
            self._runs -= page.runs
            self.packed_bytes -= len(page.data)
            self._changed.add(self._first_number)
            self._first_number += 1

    def _close(self) -> None:
        self._packed.append(self._open_page)
        self._runs += len(self._open)
        self.packed_bytes += len(self._packed[-1].data)
        self._open = Columns()

    def _reopen(self) -> None:
        page = self._packed.pop()
        self._runs -= page.runs
        self.packed_bytes -= len(page.data)
        self._open = Columns()
        for noted in page.columns():
            self._open.append(noted)

    def loosen_first(self, vague: int) -> None:
        """Less is known of the gap before the first run than was written down."""
        if self._packed:
            page = self._packed[0]
            columns = Columns()
            for noted in page.columns():
                columns.append(noted)
            columns.gaps[0] = vague
            self._packed[0] = Page(columns[0], page.runs, columns.packed())
            self.packed_bytes += len(self._packed[0].data) - len(page.data)
        elif len(self._open):
            self._open.gaps[0] = vague

    # -- as records ----------------------------------------------------------------------------------------

    @property
    def first_number(self) -> int:
        """The number of the first page."""
        return self._first_number

    @property
    def last_number(self) -> int:
        """The number of the page that still grows."""
        return self._first_number + len(self._packed)

    @property
    def _open_page(self) -> Page:
        first = self._open[0] if len(self._open) else Noted(Run(0, 0, 0), 0)
        return Page(first, len(self._open), self._open.packed())

    def take_changes(self) -> dict[int, Page | None]:
        """The pages that have changed since the last call, by number; None for those that are no more."""
        changed, self._changed = self._changed, set()
        return {number: self._numbered(number) for number in sorted(changed)}

    def _numbered(self, number: int) -> Page | None:
        if number == self.last_number:
            return self._open_page
        index = number - self._first_number
        return self._packed[index] if 0 <= index < len(self._packed) else None

    @classmethod
    def restored(cls, pages: Mapping[int, Page], page_runs: int = PAGE_RUNS) -> Pages:
        """The same again; where a page is missing, without all that lies before it."""
        made = cls(page_runs)
        made._changed.clear()
        if not pages:
            return made
        last = max(pages)
        first = next(number for number in range(last, -2, -1) if number - 1 not in pages)
        made._first_number = first
        made._packed = [pages[number] for number in range(first, last + 1)]
        made._runs = sum(page.runs for page in made._packed)
        made.packed_bytes = sum(len(page.data) for page in made._packed)
        made._reopen()
        return made

    # -- questions -----------------------------------------------------------------------------------------

    def around(
        self, offset: int, by_target: bool = False, is_before: bool = False
    ) -> tuple[Noted | None, Noted | None]:
        """The last run that begins at an offset or before it (`is_before`: only before it), and the run behind that."""
        find = bisect_left if is_before else bisect_right
        in_open = find(self._open.targets if by_target else self._open.sources, offset)
        if in_open:
            return self._open[in_open - 1], self._open[in_open] if in_open < len(self._open) else None
        following = self._open[0] if len(self._open) else None
        index = find(self._packed, offset, key=attrgetter("target" if by_target else "source"))
        if index < len(self._packed):
            following = self._packed[index].first
        if not index:
            return None, following
        columns = self._packed[index - 1].columns()
        inside = find(columns.targets if by_target else columns.sources, offset)
        return columns[inside - 1], columns[inside] if inside < len(columns) else following
