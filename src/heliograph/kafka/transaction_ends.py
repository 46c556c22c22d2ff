"""How an earlier transaction of a producer has ended, from the markers in the logs of partitions that took part in it.

In the second generation of transactions the end of one carries the next epoch, which belongs to no other transaction
before. In the first, all transactions of a producer have the same epoch, and so have their ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from heliograph.kafka import batches, reading
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST, LogBatch
from heliograph.model import TopicPartition

_COMMIT = 1
_FIRST_STEP = 1_000  # offsets
_GROWTH = 8


class Trace(NamedTuple):
    """A batch of the producer: under which epoch, and for a marker whether it says commit."""

    epoch: int
    commits: bool | None = None


class Account(NamedTuple):
    """What a part of a log tells of a transaction; complete if what lies before that part cannot tell more."""

    commit: bool | None
    is_complete: bool


def how_it_ended(network: Network, producer_id: int, epoch: int, witnesses: Collection[TopicPartition]) -> bool | None:
    """Whether the producer's transaction of an epoch was committed; None if no witness knows.

    Logs are read back in growing steps, all of them alike: the end is mostly near, and one witness that knows it is
    enough.
    """
    firsts = reading.list_many(network, dict.fromkeys(witnesses, EARLIEST))
    ends = reading.list_many(network, dict.fromkeys(witnesses, LATEST))
    step, silent = _FIRST_STEP, sorted(witnesses)
    while silent:
        unsure = []
        for where in silent:
            start = max(firsts[where], ends[where] - step)
            told = account_of(_traces(network, where, start, ends[where], producer_id), epoch)
            if told.commit is not None:
                return told.commit
            if not told.is_complete and start > firsts[where]:
                unsure.append(where)
        step, silent = step * _GROWTH, unsure
    return None


def took_no_part(network: Network, producer_id: int, epoch: int, where: TopicPartition) -> bool:
    """Whether a log shows that a transaction wrote nothing there: it must reach back to what came before it."""
    first = reading.list_many(network, {where: EARLIEST})[where]
    end = reading.list_many(network, {where: LATEST})[where]
    step = _FIRST_STEP
    while True:
        start = max(first, end - step)
        traces = list(_traces(network, where, start, end, producer_id))
        if any(trace.epoch == epoch and trace.commits is None for trace in traces):
            return False
        if account_of(traces, epoch).is_complete or start == 0:
            return True
        if start == first:
            return False
        step *= _GROWTH


def writer_at(network: Network, where: TopicPartition, offset: int) -> tuple[int, int] | None:
    """The producer id and epoch under which a record was written; None if it is gone."""
    if not reading.list_many(network, {where: EARLIEST})[where] <= offset:
        return None
    span = {where.partition: offset}, {where.partition: offset + 1}
    for batch in reading.read_log(network.loop, network, where.topic, *span, isolation=READ_UNCOMMITTED):
        if batch.header.base_offset <= offset <= batch.header.last_offset:
            return batch.header.producer_id, batch.header.producer_epoch
    return None


def account_of(traces: Iterable[Trace], epoch: int) -> Account:
    """What the traces of a producer, in the order of the log, tell of its transaction of an epoch."""
    commit: bool | None = None
    took_part = is_complete = False
    for trace in traces:
        if trace.epoch < epoch:
            is_complete = True
        elif trace.commits is None and trace.epoch == epoch:
            took_part, commit = True, None  # in the first generation perhaps another one of the same epoch
        elif trace.commits is None:
            break  # whatever ends from here on is a later one
        elif trace.epoch == epoch + 1 or (took_part and commit is None):
            commit = trace.commits
            if trace.epoch > epoch:
                break
    return Account(commit, is_complete)


def _traces(network: Network, where: TopicPartition, start: int, end: int, producer_id: int) -> Iterable[Trace]:
    span = {where.partition: start}, {where.partition: end}
    for batch in reading.read_log(network.loop, network, where.topic, *span, isolation=READ_UNCOMMITTED):
        if batch.header.producer_id == producer_id and batch.header.record_count:
            yield _trace(batch)


def _trace(batch: LogBatch) -> Trace:
    is_marker = batch.header.is_control
    return Trace(batch.header.producer_epoch, batches.control_type(batch.data) == _COMMIT if is_marker else None)
