"""One attempt of a lane, from fencing to the first failure or the end of the epoch.

1. Fence: take the transactional ids, which ends open transactions of a predecessor and locks it out.
2. Check that the flow still belongs to the mirror that planned this lane, and that it has not dealt anew. This is also
   checked before the fence: a lane that comes too late must not lock out those that have followed it.
3. Read the positions that were written after the plan was made.
4. Copy, and commit: data, positions and one ledger entry in the same transaction on the target.
Trouble with a broker at any step means: forget everything uncommitted and begin again at 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from heliograph.engine.by_sequences import BySequences
from heliograph.engine.by_transactions import ByTransactions
from heliograph.engine.commit import Commit
from heliograph.engine.copying import CopyRules, PartitionCopy
from heliograph.engine.fault_points import reached
from heliograph.engine.incoming import Incoming
from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.links import Links
from heliograph.engine.loss import Loss, Suspicion, examine, target_losses, why_missing
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.engine.provenance import Provenance, meet_writers
from heliograph.engine.pulse import IDLE, Heart
from heliograph.engine.settings import LaneSettings
from heliograph.engine.source_broker import Arrival, FetchBuffer, SourceBroker
from heliograph.engine.start import WHY_NOWHERE, beginnings
from heliograph.engine.transformed_copy import TransformedCopy
from heliograph.errors import BrokerUnavailable, LoopFailed, PartitionFailed
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.endings import Endings
from heliograph.kafka.fetching import Fetched, FetchPoint, FetchResult
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check, error_name
from heliograph.model import (
    Assignment,
    Event,
    EventKind,
    LanePlan,
    LedgerEntry,
    LeftOut,
    PartitionProgress,
    Position,
    TopicPartition,
)

if TYPE_CHECKING:  # most lanes have no transforms, and need not import all that these stand on
    from heliograph.engine.lane_transforms import LaneTransforms

_MAY_BE_LOSS = {1, 3, 100, 103}  # offset out of range, unknown topic, unknown topic id, inconsistent topic id
_SESSION_LOST = {70, 71}  # fetch session id not found, invalid fetch session epoch
_CONCERNS_PARTITION = {2, 29}  # corrupt message, not authorised for the topic
_CopyArguments = tuple[Assignment, FetchPoint, TargetPartition, Outgoing, int, CopyRules, bool]
_BYTES_AT_A_TIME = 256 * 1024  # of answers; one that is larger is looked at alone
_FIRST_LOOK_SECONDS = 0.05  # for the leaders of new topics, which are known a moment before they are ready
_LOOK_FOR_LEADERS_SECONDS = 1.0
_LONG_SECONDS = 30.0
_FORGOTTEN_SECONDS = 30.0  # after the deadline of a request
_LONGEST_REFUSAL = 5.0  # seconds that a partition may answer with an error that nobody knows the meaning of
_REFUSED = "the source refuses to give what is in it"
_OUT_OF_REACH = "its leader on the source is out of reach; it goes on when the leader is back"


class LaneSession:
    """Connections, producer and partitions of one attempt."""

    def __init__(
        self,
        plan: LanePlan,
        source: Access,
        target: Access,
        settings: LaneSettings,
        should_end: Callable[[], bool],
        set_aside: dict[TopicPartition, str],
        told: dict[TopicPartition, str],
        cut_back: dict[TopicPartition, int],
        transforms: LaneTransforms | None = None,
        heart: Heart | None = None,
        links: Links | None = None,
        endings: Endings | None = None,
    ) -> None:
        self._plan = plan
        self._links = links or Links(settings.lanes)
        self._endings = endings
        self._heart = heart or Heart.silent()
        self._moves = self._told_moves = 0  # arrivals and commits: so far, and as of the last pulse
        self._is_copying = False
        self._transforms = transforms
        self._settings = settings
        self._set_aside = set_aside
        self._told = told  # what the ledger says of partitions that are set aside
        self._cut_back = cut_back  # where targets were seen to have lost something, until that is written down
        self._barred: dict[TopicPartition, Position] = {}  # positions to be written down where nothing goes on
        self._should_end = should_end
        self._end_by: float | None = None
        # Source and target share it, so it may be run for the sake of one while the other fails.
        self._loop = Loop(self._look_around, self._heart.before)
        self._source = Network(self._loop, source)
        self._target = Network(self._loop, target)
        self._copies: dict[TopicPartition, PartitionCopy] = {}
        self._incoming = Incoming(self._source, settings.limits, settings.bytes_per_second, links=self._links)
        self._give_up_sending: Callable[[], None] = lambda: None
        self._touched: dict[TopicPartition, PartitionCopy] = {}
        self._behind: set[TopicPartition] = set()
        self._suspicions: dict[TopicPartition, Suspicion] = {}
        self._has_writers = any(left_out.flows for left_out in plan.left_out.values())
        self._refused_since: dict[TopicPartition, float] = {}  # by the source, for reasons that may pass
        self._events: list[Event] = []
        self._to_resume = set(told)
        self._unbegun: dict[TopicPartition, Assignment] = {}  # without a leader, or a place to begin before it has one
        self._look_for_leaders_at = 0.0
        self._look_pause = _FIRST_LOOK_SECONDS
        self._unexamined: dict[TopicPartition, float] = {}  # suspected, but they cannot be asked; since when
        self._examine_at = 0.0
        self._tell_unbegun_at = 0.0
        self._began: float | None = None
        self._to_read: list[PartitionCopy] = []  # once what was lost before them is committed
        self._resuming: list[PartitionCopy] = []  # of the commit that is under way

    def close(self) -> None:
        """Drop all connections."""
        self._incoming.close()
        self._give_up_sending()
        self._loop.close()

    # -- steps 1 to 3 --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Fence, check the owner, read positions, and begin to fetch there."""
        with self._telling_why():
            self._start()

    def _start(self) -> None:
        plan = self._plan
        missing = self._source.look_up({item.source.topic for item in plan.assignments})
        written = self._with_targets(plan.assignments)
        own = replace(plan, assignments=written)
        self._books = LaneBooks(self._target, own, self._source.access.alias, self._endings)
        self._target.refresh([plan.topics.state])
        self._books.check_owner()
        self._commit = self._way_to_commit(written)
        self._commit.take()
        self._outgoing = self._commit.outgoing
        self._give_up_sending = self._outgoing.give_up
        if self._transforms:
            self._tools = self._transforms.tools(plan.flow, self._target, self._outgoing)
        reached("fenced")
        self._books.check_owner()
        self._commit.announce()
        known = self._commit.positions()
        self._events.extend(self._commit.events)
        for topic, error_code in missing.items():
            self._put_topic_aside(topic, error_code)
        self._set_aside.update(self._commit.unusable)
        for source, reason in self._set_aside.items():
            self._tell_set_aside(source, reason, known)
        wanted = [item for item in plan.assignments if item.source not in self._set_aside]
        self._begin(wanted, known)
        reached("started")

    def _way_to_commit(self, assignments: Sequence[Assignment]) -> Commit:
        way = BySequences if self._settings.commits_by_sequences else ByTransactions
        plan = replace(self._plan, assignments=assignments)
        return way(plan, self._target, self._settings, self._books, self._links)

    def _with_targets(self, assignments: Sequence[Assignment]) -> list[Assignment]:
        """Those that have a topic to be written to; the others are set aside, and hold nobody up."""
        missing = self._target.look_up({item.target.topic for item in assignments})
        for item in assignments:
            if item.target.topic in missing:
                self._set_aside[item.source] = _why_unusable(item.target.topic, missing[item.target.topic])
        return [item for item in assignments if item.target.topic not in missing]

    def _with_leaders(self, wanted: list[Assignment], known: dict[TopicPartition, Position]) -> list[Assignment]:
        """Those that can begin now: nobody can say where a partition without a position and a leader begins."""
        ready = [item for item in wanted if item.source in known or self._source.has_leader(*item.source)]
        begun = {item.source for item in ready}
        self._begin_later([item for item in wanted if item.source not in begun])
        return ready

    def _begin_later(self, items: Sequence[Assignment]) -> None:
        if items and not self._unbegun:
            self._tell_unbegun_at = time.monotonic() + _LONG_SECONDS
        self._unbegun |= {item.source: item for item in items}

    def _begin_late(self) -> None:
        """Begin with partitions that had no leader before, or none that could be asked, as soon as they have one."""
        began = time.monotonic()
        if not self._unbegun or began < self._look_for_leaders_at:
            return
        self._source.look_up({where.topic for where in self._unbegun})
        ready = [item for where, item in self._unbegun.items() if self._source.has_leader(*where)]
        if ready:
            self._begin(ready, {})
        now = time.monotonic()
        self._look_pause = min(2 * self._look_pause, _LOOK_FOR_LEADERS_SECONDS)
        # Little is read while we try, so the longer it takes, the rarer it is done.
        self._look_for_leaders_at = now + max(self._look_pause, 3 * (now - began))

    def _starts(self, fresh: Sequence[TopicPartition]) -> tuple[dict[TopicPartition, int], set[TopicPartition]]:
        """Where partitions without a position begin, and those of which nobody can say that now."""
        unasked: set[TopicPartition] = set()

        def ask(source: Network, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
            found = reading.list_soon(source, wanted)
            unasked.update(found.failures)
            return found.offsets

        mirrored = self._plan.added
        return beginnings(self._source, fresh, self._settings, mirrored, ask), unasked

    def _begin(self, wanted: list[Assignment], known: dict[TopicPartition, Position]) -> None:
        wanted = self._with_leaders(wanted, known)
        fresh = [item.source for item in wanted if item.source not in known]
        starts, unasked = self._starts(fresh)
        self._begin_later([item for item in wanted if item.source in unasked])
        for source in fresh:
            if source not in unasked:
                self._unbegun.pop(source, None)
                if source not in starts:
                    self._put_aside(source, WHY_NOWHERE)
        wanted = [item for item in wanted if item.source in known or item.source in starts]
        rules = self._rules({item.source.topic for item in wanted})
        losses = {**target_losses(self._target, wanted, known, self._cut_back), **self._commit.losses}
        for item in wanted:
            if item.source not in losses:  # what was lost had not been committed
                self._cut_back.pop(item.source, None)
        for item in wanted:
            position = known.get(item.source)
            offset = starts[item.source] if position is None else position.offset + 1
            epoch = -1 if position is None else position.leader_epoch
            topic_id = self._source.topic_id(item.source.topic)
            point = FetchPoint(*_named(item.source, topic_id), offset, last_fetched_epoch=epoch)
            target = self._outgoing.partition(item.target)
            target_offset = -1 if position is None else position.target_offset
            lost = losses.get(item.source)
            if lost is not None:
                target_offset = lost.from_offset - 1
            arguments = (item, point, target, self._outgoing, target_offset, rules[item.source.topic], position is None)
            self._copies[item.source] = self._copy_of(arguments)
            if position is None and self._settings.start_may_move:
                self._write_down_start(self._copies[item.source])
            if lost is not None and position is not None:
                if not self._goes_on_after(item.source, lost):
                    self._bar(item.source, position, lost)
                    continue
                self._write_down_start(self._copies[item.source])  # told once
            if position is not None and position.topic_id and UUID(position.topic_id) != topic_id:
                self._suspicions[item.source] = Suspicion(UUID(position.topic_id))
            else:
                self._incoming.read(point)
        begun = [self._copies[item.source] for item in wanted if item.source not in self._set_aside]
        for source in self._commit.begun(begun):
            self._write_down_start(self._copies[source])

    def _bar(self, source: TopicPartition, position: Position, lost: Loss) -> None:
        """Write down that the target has lost something: soon others may have written there beyond the position."""
        if position.target_lost_from < 0:
            self._barred[source] = replace(position, target_lost_from=lost.from_offset)

    def _write_down_start(self, copy: PartitionCopy) -> None:
        """At once: an attempt that finds no position would begin at another place, and skip what came meanwhile."""
        copy.write_down_start()
        self._touched[copy.assignment.source] = copy
        self._began = float("-inf")

    def _rules(self, topics: set[str]) -> dict[str, CopyRules]:
        """What each topic is copied by."""
        provenance = Provenance(self._loop, self._source)
        left_out, nothing = self._plan.left_out, LeftOut()
        return {
            topic: CopyRules(provenance.of(left_out.get(topic, nothing)), self._settings.compression)
            for topic in topics
        }

    def _copy_of(self, arguments: _CopyArguments) -> PartitionCopy:
        transformer = self._transforms.transformer(arguments[0]) if self._transforms else None
        if transformer is None:
            return PartitionCopy(*arguments)
        partitions = len(self._source.partitions(arguments[0].source.topic))
        return TransformedCopy(*arguments, transformer, self._tools, partitions)

    # -- step 4 --------------------------------------------------------------------------------------------------

    def copy(self) -> Iterator[LedgerEntry]:
        """Copy until told to end; everything appended by then is committed."""
        with self._telling_why():
            yield from self._copy()

    @contextmanager
    def _telling_why(self) -> Iterator[None]:
        """Raise what has ended the session, wherever it was noticed."""
        try:
            yield
        except LoopFailed as failed:
            why = failed.why
            if isinstance(why, PartitionFailed):
                refused, *others = [self._copies[one.source].refused(one) for one in (why, *why.others)]
                refused.others = others
                raise refused from failed
            raise why from failed

    def _look_around(self) -> None:
        """Whatever the lane waits for, it still lives, and still hears that it must end."""
        self._heart.beat(self._doing)
        self._check_end()
        self._check_answers()

    def _doing(self) -> str:
        """What the lane does, or what it waits for, in a few words."""
        has_moved, self._told_moves = self._moves != self._told_moves, self._moves
        target = self._target.access.alias
        if has_moved:
            return "copying"
        if self._loop.awaited:
            return f"waiting for {self._loop.awaited}"
        if not self._is_copying:
            return "starting"
        if self._commit.is_closing:
            return f"waiting for {target} to commit a transaction"
        if not self._outgoing.is_idle:
            return f"waiting for {target} to take what was read"
        if adrift := len(self._incoming.adrift):
            return f"waiting for brokers of {self._source.access.alias}, which have {adrift} of its partitions"
        if not self._incoming.keeps_pace:
            return "waiting until the bandwidth that it may use allows more"
        if late := self._incoming.late:
            return f"waiting for an answer of {late}"
        return IDLE

    def _check_answers(self) -> None:
        """Requests have deadlines. Should an answer be forgotten all the same, the wait for it ends nevertheless."""
        if not self._is_copying:
            return
        longest = self._target.access.request_timeout_ms / 1000 + _FORGOTTEN_SECONDS
        self._commit.check_answers(longest, self._doing())

    def _check_end(self) -> None:
        """No wait may outlast the epoch: a transaction that is not ended in its time is aborted in any case."""
        if not self._should_end():
            return
        now, seconds = time.monotonic(), self._settings.transaction_timeout_ms / 1000
        self._end_by = self._end_by or now + seconds
        if now > self._end_by:
            name = self._target.access.alias
            self._loop.fail(BrokerUnavailable(f"{name}: what was written could not be committed within {seconds:g} s"))

    def _copy(self) -> Iterator[LedgerEntry]:
        self._is_copying = True
        while not self._should_end():
            self._heart.beat(self._doing)
            self._look_at_arrivals()
            # Before the steps that wait for answers, so that brokers look for more meanwhile.
            self._incoming.fetch(wants_more=not self._outgoing.is_full)
            self._begin_late()
            self._tell_out_of_reach()
            self._follow_suspicions()
            self._commit.send()
            yield from self._advance_commit()
            if not self._commit.is_closing and self._commit_is_due():
                self._begin_commit()
            self._loop.run_once(0.0 if self._has_more_to_look_at else 0.1)
        yield from self._finish_commit()
        self._commit.settle(is_last=True)
        if self._began is not None or self._events or self._barred:
            self._begin_commit()
            yield from self._finish_commit()
        self._commit.end()

    def _look_at_arrivals(self) -> None:
        """Here and not where responses come in: looking at them may need answers from brokers.

        So much at a time that what ends a transaction never waits for long. The rest stays in the buffers that it has
        come in, so that nothing more is read meanwhile.
        """
        seen = 0
        while self._has_more_to_look_at and seen < _BYTES_AT_A_TIME:
            arrival = self._incoming.arrivals.popleft()
            seen += arrival.size
            if self._has_writers:
                self._meet_writers(arrival)
            self._look_at(*arrival)
            arrival.broker.looked_at(arrival)

    def _meet_writers(self, arrival: Arrival) -> None:
        """Look up all unknown producers of an answer with one question."""
        self._heart.beat(self._doing)
        arrived = arrival.result.partitions
        found = ((self._copies.get(TopicPartition(one.point.topic, one.point.partition)), one) for one in arrived)
        meet_writers((copy.provenance, fetched.records) for copy, fetched in found if copy is not None)

    @property
    def _has_more_to_look_at(self) -> bool:
        return bool(self._incoming.arrivals) and not self._outgoing.is_full

    def _look_at(self, broker: SourceBroker, result: FetchResult, buffer: FetchBuffer) -> None:
        if result.error_code in _SESSION_LOST:
            return  # the next request begins a new fetch session
        check(f"{self._source.access.alias} fetch", result.error_code)
        for fetched in result.partitions:
            self._heart.beat(self._doing)
            if not broker.reads(fetched.point) or self._incoming.is_elsewhere(broker, fetched):
                continue
            where = TopicPartition(fetched.point.topic, fetched.point.partition)
            if fetched.error_code or fetched.diverging:
                self._incoming.stop(broker, fetched.point)
                self._troubled(where, fetched)
                continue
            self._refused_since.pop(where, None)
            copy = self._copies[where]
            self._moves += bool(len(fetched.records))
            buffer.hold(copy.accept(fetched, buffer.release))
            broker.session.moved(fetched.point)
            self._touched[where] = copy
            if copy.is_behind:
                self._behind.add(where)
            else:
                self._behind.discard(where)
            if copy.failure is not None:
                self._incoming.stop(broker, fetched.point)
                self._put_aside(where, copy.failure.reason)
            if self._began is None:
                self._began = time.monotonic()

    def _commit_is_due(self) -> bool:
        if self._events or self._barred or self._outgoing.has_sent_enough:
            return True
        if self._began is None:
            return False
        if time.monotonic() - self._began >= self._settings.commit_interval:
            return True
        is_level = self._behind <= self._incoming.adrift
        return self._commit.is_due(is_level)

    def _begin_commit(self) -> None:
        if self._transforms:
            self._drain()
        self._commit.settle(is_last=False)
        reached("data-written")
        for copy in self._touched.values():
            if (event := copy.failure_event()) is not None:
                self._events.append(event)
        finished = [copy.take_progress() for copy in self._touched.values() if copy.has_moved]
        self._touched = {where: copy for where, copy in self._touched.items() if copy.has_queued}
        self._began = time.monotonic() if self._touched else None
        entry = self._ledger_entry([progress for some, _ in finished for progress in some])
        if finished or entry.events or self._barred:
            reached_to = {some[0].source: position for some, position in finished} | self._barred
            self._barred = {}
            self._commit.begin(entry, reached_to)
            self._resuming, self._to_read = self._to_read, []

    def _drain(self) -> None:
        """Append all that was read: a partition that writes to several cannot be cut in the middle."""
        while not self._outgoing.is_idle:
            self._commit.send(is_last=True)
            self._loop.run_once(0.1)

    def _advance_commit(self) -> Iterator[LedgerEntry]:
        """Yields the entry of the transaction that was being committed, once it is."""
        committed = self._commit.advance()
        if committed is None:
            return
        entry = replace(committed, committed_at_ms=int(time.time() * 1000))
        self._moves += 1
        self._read_on()
        for event in entry.events:
            if event.kind is EventKind.TARGET_LOSS:
                self._cut_back.pop(event.source, None)
            elif event.kind is EventKind.SET_ASIDE:
                self._told[event.source] = event.reason
            elif event.kind is EventKind.RESUMED:
                self._told.pop(event.source, None)
        yield entry

    def _read_on(self) -> None:
        """What was lost is committed now, so the partition may go on behind it."""
        resuming, self._resuming = self._resuming, []
        for copy in resuming:
            self._commit.moved(copy)
            self._incoming.read(copy.point)

    def _finish_commit(self) -> Iterator[LedgerEntry]:
        while self._commit.is_closing:
            self._loop.run_once(0.1)
            yield from self._advance_commit()

    def _ledger_entry(self, finished: list[PartitionProgress]) -> LedgerEntry:
        plan, now = self._plan, int(time.time() * 1000)
        for progress in finished:
            if progress.runs and progress.source in self._to_resume:
                self._tell_resumed(progress)
        events, self._events = tuple(self._events), []
        return LedgerEntry(plan.flow, plan.lane, plan.owner, self._commit.producer_id, now, tuple(finished), events)

    # -- partitions in trouble -----------------------------------------------------------------------------------

    def _troubled(self, where: TopicPartition, fetched: Fetched) -> None:
        """Sort out what an answer about one partition means; questions to brokers wait for the main loop."""
        if fetched.diverging is not None:
            self._suspicions[where] = Suspicion(diverged_at=fetched.diverging[1])
        elif fetched.error_code in _MAY_BE_LOSS:
            self._suspicions[where] = Suspicion()
        elif fetched.error_code in _CONCERNS_PARTITION:
            self._put_aside(where, f"{error_name(fetched.error_code)} when reading from the source")
        else:
            self._bear(fetched.point, where, error_name(fetched.error_code))

    def _bear(self, point: FetchPoint, where: TopicPartition, name: str) -> None:
        """Ask again what a partition refuses, for whatever reason; if that lasts, the others go on without it."""
        now = time.monotonic()
        since = self._refused_since.setdefault(where, now)
        reason = f"{_REFUSED}: {name}"
        if now - since >= _LONGEST_REFUSAL or self._told.get(where) == reason:  # it was tried again, in vain
            self._put_aside(where, reason)
        else:
            self._incoming.ask_again(point)

    def _follow_suspicions(self) -> None:
        suspicions, self._suspicions = self._suspicions, {}
        for where, suspicion in suspicions.items():
            copy = self._copies[where]
            if copy.has_queued or (where in self._unexamined and time.monotonic() < self._examine_at):
                self._suspicions[where] = suspicion  # first what was read before must be appended
                continue
            began = time.monotonic()
            try:
                loss = examine(self._source, copy.point, suspicion)
            except PartitionFailed as failure:
                self._put_aside(where, failure.reason)
                continue
            except BrokerUnavailable:
                self._examine_later(where, suspicion, began)
                continue
            self._unexamined.pop(where, None)
            if loss is None:
                self._incoming.read(copy.point)
            else:
                self._handle_loss(copy, loss)

    def _examine_later(self, where: TopicPartition, suspicion: Suspicion, began: float) -> None:
        """Its leader cannot be asked, and the others do not wait for it."""
        now = time.monotonic()
        self._suspicions[where] = suspicion
        self._unexamined.setdefault(where, now)
        self._examine_at = now + max(_LOOK_FOR_LEADERS_SECONDS, 3 * (now - began))

    def _handle_loss(self, copy: PartitionCopy, loss: Loss) -> None:
        where, point = copy.assignment.source, copy.point
        if not self._goes_on_after(where, loss):
            return
        point.topic_id = self._source.topic_id(where.topic)
        copy.skip_to(loss.resume_at)
        self._touched[where] = copy
        self._to_read.append(copy)

    def _goes_on_after(self, where: TopicPartition, loss: Loss) -> bool:
        """Tell a loss; whether the partition goes on, by policy."""
        event = Event(loss.kind, where, loss.from_offset, loss.to_offset, loss.reason)
        if self._settings.goes_on_after_loss:
            self._events.append(event)
            return True
        advice = f"{loss.reason}; on.data.loss = continue goes on at offset {loss.resume_at}"
        if self._told.get(where) != advice:
            self._events.append(event)
        self._put_aside(where, advice)
        return False

    def _tell_out_of_reach(self) -> None:
        """Such partitions are not given up: they go on in this very session, as soon as they can."""
        out_of_reach = list(self._incoming.long_adrift())
        if self._unbegun and time.monotonic() > self._tell_unbegun_at:
            self._tell_unbegun_at = math.inf
            out_of_reach.extend(self._unbegun)
        out_of_reach.extend(self._long_unexamined())
        for where in out_of_reach:
            self._tell_set_aside(where, _OUT_OF_REACH, {})
            self._to_resume.add(where)

    def _long_unexamined(self) -> list[TopicPartition]:
        """Each is told once."""
        long = [where for where, since in self._unexamined.items() if time.monotonic() - since > _LONG_SECONDS]
        self._unexamined |= dict.fromkeys(long, math.inf)
        return long

    def _put_topic_aside(self, topic: str, error_code: int) -> None:
        for item in self._plan.assignments:
            if item.source.topic == topic:
                self._set_aside[item.source] = why_missing(error_code)

    def _put_aside(self, where: TopicPartition, reason: str) -> None:
        self._set_aside[where] = reason
        self._behind.discard(where)
        self._unexamined.pop(where, None)
        self._tell_set_aside(where, reason, {})

    def _tell_set_aside(self, where: TopicPartition, reason: str, known: dict[TopicPartition, Position]) -> None:
        if self._told.get(where) == reason:
            return
        copy = self._copies.get(where)
        offset = copy.point.offset if copy else known[where].offset + 1 if where in known else -1
        self._events.append(Event(EventKind.SET_ASIDE, where, offset, -1, reason))

    def _tell_resumed(self, progress: PartitionProgress) -> None:
        self._to_resume.discard(progress.source)
        first = progress.runs[0].source
        self._events.append(Event(EventKind.RESUMED, progress.source, first, -1, "goes on"))


def _why_unusable(topic: str, error_code: int) -> str:
    """Why a topic of the target cannot be written to, from the target's answer to the question who leads it."""
    if error_code == UNKNOWN_TOPIC:
        return f"the topic {topic} is gone on the target; it goes on when the topic is there again"
    return f"the target answers {error_name(error_code)} for the topic {topic}; it goes on when that is over"


def _named(source: TopicPartition, topic_id: UUID) -> tuple[str, UUID, int]:
    return source.topic, topic_id, source.partition
