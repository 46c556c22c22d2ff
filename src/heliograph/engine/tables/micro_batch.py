"""A micro-batch of a stream on its way to the cluster: tasks write, and Spark's driver commits when all have.

Each task writes its rows and a marker of them in a transaction of its own, and leaves it open. When all tasks are done,
the driver commits one transaction after the other, and notes that the micro-batch is complete. So whatever fails before
the first of these commits, nothing was written, and the micro-batch can be run again in any way.

If the driver dies in the middle of its commits, some transactions are committed and the others abort in time. Then the
same micro-batch comes again. A task whose marker is there compares its rows with those of the marker. If all such tasks
have the same rows as before, what the others have is what is missing. If not, because rows are spread differently over
tasks by now, nobody can tell what is missing: then nothing is written, and the query ends with a message.

That commits come in the order of tasks, and end with the first that fails, keeps out a driver that was thought dead:
for a task that the new run has fenced, it can commit no later one. So a task of the new run either finds a marker that
counts, or there will be none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from heliograph.engine.fault_points import reached
from heliograph.engine.tables import markers
from heliograph.engine.tables.markers import Marker, Rows
from heliograph.engine.tables.row_writer import RowWriter, SinkPlan, Tally, now_ms, rows_of
from heliograph.errors import BrokerRefused, BrokerUnavailable, ClusterError, DataError, Fenced
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.network import Network, opened
from heliograph.kafka.patience import Patience
from heliograph.kafka.transaction import TransactionalProducer, end_prepared, take_all

_FENCE_TIMEOUT_MS = 15_000


class State(Enum):
    """What a task has found or done."""

    PREPARED = "its rows are written, and wait for the commit"
    COMMITTED = "its rows were committed before"
    DIFFERENT = "other rows were committed before"
    COMPLETE = "the whole micro-batch was committed before"


@dataclass(frozen=True)
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    query: str
    number: int
    batch: int
    state: State
    committed: frozenset[int] = frozenset()  # the tasks of this micro-batch whose markers it has seen
    stamp: ProducerStamp | None = None  # of the open transaction
    is_first: bool = False  # of this query in its process: an earlier run may have been killed


_begun: set[str] = set()  # queries that this process has worked for


def transactional_id(name: str) -> str:
    """Under which id the task or query of this name writes."""
    return f"heliograph-tables-{name}"


def prepare(plan: SinkPlan, query: str, number: int, batch: int, rows: Iterator[pa.RecordBatch]) -> Written:
    """Write the rows of a task, unless they are there; the driver commits them."""
    is_first = query not in _begun
    _begun.add(query)
    with opened(plan.access, [markers.TOPIC]) as (_, network):
        name = markers.task_name(query, number)
        producer = TransactionalProducer(network, transactional_id(name), plan.timeout_ms)
        reached("fenced")
        log = markers.follow(network)
        if log.is_complete(query, batch):
            _leave_out(plan, rows)
            return Written(query, number, batch, State.COMPLETE)
        committed = log.committed(query, batch)
        marker = log.of(name)
        if marker is not None and marker.batch == batch:
            state = compared(marker, _leave_out(plan, rows))
            return Written(query, number, batch, state, committed)
        _write(plan, network, producer, name, batch, rows)
        reached("bookkeeping-written")
        return Written(query, number, batch, State.PREPARED, committed, producer.stamp, is_first)


def compared(marker: Marker, rows: Rows) -> State:
    """Whether a task has the rows that its marker tells of; an older marker is taken at its word."""
    return State.COMMITTED if marker.rows is None or marker.rows.are(rows) else State.DIFFERENT


def to_commit(written: Sequence[Written]) -> list[Written]:
    """The tasks whose transactions are to be committed, in order; raises if nobody can tell what is missing."""
    if any(item.state is State.COMPLETE for item in written):
        return []
    seen = frozenset[int]().union(*(item.committed for item in written))
    same = {item.number for item in written if item.state is State.COMMITTED}
    if seen - same or any(item.state is State.DIFFERENT for item in written):
        first = written[0]
        raise DataError(
            f"micro-batch {first.batch} of query {first.query} was written in part by an earlier run, whose tasks had "
            f"other rows than now, so nobody can tell what is missing; nothing more was written. Run the query with as "
            "many tasks as before (minPartitions, repartition), or give it a new checkpoint"
        )
    return sorted((item for item in written if item.state is State.PREPARED), key=lambda item: item.number)


def commit(access: Access, written: Sequence[Written]) -> None:
    """Make a micro-batch visible; nothing of it if that cannot be right."""
    try:
        chosen = to_commit(written)
    except DataError:
        abort(access, written)
        raise
    if not chosen:
        abort(access, written)
    if written:
        _end_leftovers(access, written)
        _commit(access, deque(chosen), written[0])


def _end_leftovers(access: Access, written: Sequence[Written]) -> None:
    """End what an earlier run with more tasks has left open, by taking the ids that nobody else would take."""
    if not any(item.is_first for item in written):
        return
    prefix = transactional_id(markers.task_name(written[0].query, ""))
    used = {transactional_id(_name(item)) for item in written}
    with Admin(access) as admin:
        found = admin.transactional_ids(prefix) - used
    left = sorted(name for name in found if name.removeprefix(prefix).isdecimal())
    with opened(access) as (_, network):
        take_all(network, left, _FENCE_TIMEOUT_MS)


def abort(access: Access, written: Sequence[Written]) -> None:
    """End what tasks have left open. It would end by itself, but readers would have to wait for that."""
    with suppress(ClusterError), opened(access) as (_, network):
        for item in written:
            if item.stamp is not None:
                with suppress(BrokerRefused, Fenced):  # it has ended already
                    end_prepared(network, transactional_id(_name(item)), item.stamp, commit=False)


def _commit(access: Access, left: deque[Written], first: Written) -> None:
    """A lost connection leaves it open whether a commit was heard, which brokers let us ask for again."""
    patience = Patience()
    while True:
        try:
            with opened(access, [markers.TOPIC]) as (_, network):
                while left:
                    _commit_one(network, left[0])
                    left.popleft()
                whole = markers.encode(first.query, Marker(first.batch), now_ms())
                writing.append(network.loop, network, markers.PLACE, [whole])
                return
        except BrokerUnavailable:
            if not patience.wait():
                raise


def _commit_one(network: Network, item: Written) -> None:
    assert item.stamp is not None
    try:
        end_prepared(network, transactional_id(_name(item)), item.stamp, commit=True)
    except (BrokerRefused, Fenced) as error:
        raise DataError(
            f"micro-batch {item.batch} of query {item.query} cannot be committed: the transaction of task {item.number}"
            f" has ended before ({error}). Either another run of the query has begun, or the tasks have taken longer "
            "than transactionTimeoutMs: then raise it, or make micro-batches smaller (maxOffsetsPerTrigger)"
        ) from error
    reached("committed")


def write_and_commit(plan: SinkPlan, name: str, rows: Iterator[pa.RecordBatch]) -> None:
    """One transaction with all rows and a marker; nothing at all if the marker is there already.

    Raises if the rows are other ones than those that the marker tells of. Spark computes what was lost with an executor
    once more, perhaps in another order, and deals it to other tasks than before.
    """
    with opened(plan.access, [markers.TOPIC]) as (_, network):
        producer = TransactionalProducer(network, transactional_id(name), plan.timeout_ms)
        reached("fenced")
        marker = markers.follow(network).of(name)
        if marker is not None:
            if compared(marker, _leave_out(plan, rows)) is State.DIFFERENT:
                raise DataError(
                    f"task {name} has committed other rows before than it has now, so nobody can tell what is missing; "
                    "nothing more was written. Write what checkpoint() or a table has kept, so that a task which is "
                    "run again has the same rows"
                )
            return
        _write(plan, network, producer, name, 0, rows)
        reached("bookkeeping-written")
        producer.end(commit=True)
        reached("committed")


def forget(access: Access, names: Sequence[str]) -> None:
    """Remove the markers of a job that is over: nobody will look for them again."""
    with opened(access, [markers.TOPIC]) as (_, network):
        writing.append(network.loop, network, markers.PLACE, [markers.removal(name, now_ms()) for name in names])


def _write(
    plan: SinkPlan,
    network: Network,
    producer: TransactionalProducer,
    name: str,
    batch: int,
    rows: Iterator[pa.RecordBatch],
) -> None:
    """Write all rows, and the marker that tells which these were."""
    writer = RowWriter(network, producer, plan)
    try:
        for some in rows:
            writer.write(some)
        writer.finish(markers.encode(name, Marker(batch, writer.rows), now_ms()))
    except Exception:
        _give_up(plan, name)
        raise


def _give_up(plan: SinkPlan, name: str) -> None:
    """End what was begun, so that readers need not wait until it ends by itself.

    By taking the id again: what is still on its way to brokers comes too late then.
    """
    with suppress(ClusterError), opened(plan.access) as (_, network):
        TransactionalProducer(network, transactional_id(name), plan.timeout_ms)


def _leave_out(plan: SinkPlan, rows: Iterator[pa.RecordBatch]) -> Rows:
    """Pass over rows; tells which these were."""
    tally = Tally()
    for some in rows:
        for row in rows_of(plan, some):
            tally.add(row)
    return tally.rows


def _name(item: Written) -> str:
    return markers.task_name(item.query, item.number)
