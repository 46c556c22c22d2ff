"""The driver of one flow: takes it over, deals its partitions to lanes for each epoch, follows what they report."""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from heliograph.engine.bookkeeping import Bookkeeping
from heliograph.engine.dealing import deal, is_worth_a_new_deal
from heliograph.engine.past_writes import only_sources
from heliograph.engine.pulse import TRYING_AGAIN, Pulse
from heliograph.engine.settings import FlowSettings, LaneSettings
from heliograph.engine.start import Newcomers
from heliograph.engine.task import LaneTask
from heliograph.errors import NewerFormat, TakenOver
from heliograph.model import Assignment, EventKind, LanePlan, LedgerEntry, TopicPartition

log = logging.getLogger(__name__)

_IDLE_ANSWER_SECONDS = 0.5
_TROUBLE_SECONDS = 15.0  # longer than any pause between two attempts
_SLOW_FOLLOWER_SECONDS = 1.0
_LONG_PLANNING_SECONDS = 30.0
_LONG_START_SECONDS = 60.0  # of lanes: a cold start of Spark's processes takes up to 10 s, on a busy machine more
_SHORTEST_EPOCH_SECONDS = 60.0  # unless topics change
_LONGEST_UNSWEPT_SECONDS = 600.0
_TURNS = "abc"  # of a lane's transactions: one is filled, one is being committed, one is told to its partitions
_SPARES = "defghi"  # for turns whose ids are busy, since a partition cannot be told how a transaction has ended
_GATE = "z"  # nothing is written under it: whoever has it may write under the others
# And those of lanes without transactions: `k` for the books, `d0` and so on for data.
_LANE_ID = re.compile(rf"\d+([{_TURNS}{_SPARES}{_GATE}]|k|d\d+)")


@dataclass
class FlowTotals:
    """What a flow has done since it started."""

    records: int = 0
    bytes: int = 0
    transactions: int = 0
    last_commit_ms: int = 0
    latency_ms: int = 0
    by_partition: dict[TopicPartition, int] = field(default_factory=dict)
    last_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    set_aside: dict[TopicPartition, str] = field(default_factory=dict)
    producer_ids: dict[int, list[int]] = field(default_factory=dict)  # by lane: those that it may go on under

    def add(self, entry: LedgerEntry) -> None:
        """Count one transaction."""
        self.transactions += 1
        self.last_commit_ms = entry.written_at_ms
        self._note_producer(entry.lane, entry.producer_id)
        for event in entry.events:
            if event.kind is EventKind.SET_ASIDE:
                self.set_aside[event.source] = event.reason
            elif event.kind is EventKind.RESUMED:
                self.set_aside.pop(event.source, None)
        for progress in entry.partitions:
            self.records += progress.record_count
            self.bytes += progress.byte_count
            self.last_offsets[progress.source] = progress.last_offset
            if progress.runs:
                at_commit = max(0, entry.written_at_ms - progress.newest_timestamp)
                self.latency_ms = progress.latency.newest if progress.latency else at_commit
            self.by_partition[progress.source] = self.by_partition.get(progress.source, 0) + progress.byte_count

    def _note_producer(self, lane: int, producer_id: int) -> None:
        """A lane has one id for each of its turns; brokers give it others in the course of years."""
        known = self.producer_ids.setdefault(lane, [])
        if producer_id in known:
            known.remove(producer_id)
        known.append(producer_id)
        del known[: -len(_TURNS)]


@dataclass(frozen=True)
class _Plan:
    """Who copies what in the current epoch, and what had been copied before it."""

    lanes: Sequence[Sequence[Assignment]]
    copied_before: Mapping[TopicPartition, int]
    made_at: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class Trouble:
    """What held a flow up last."""

    text: str
    lane: int | None = None  # whose it is, if it is one lane's alone
    at: float = field(default_factory=time.monotonic)

    @property
    def lasting(self) -> str:
        """The text without the pause until the next try, which is another one each time."""
        return self.text.partition(TRYING_AGAIN)[0]

    @property
    def is_current(self) -> bool:
        """Whether it still does, as far as one can tell: whoever is held up says so again and again."""
        return time.monotonic() - self.at < _TROUBLE_SECONDS


class FlowTopics(Protocol):
    """What a flow must know of its clusters' topics."""

    def prepare(self) -> None:
        """Create the topics for positions and ledger where they are missing."""

    def find(self, set_aside: Collection[TopicPartition]) -> Sequence[Assignment]:
        """All partitions that can be mirrored now; creates what the target lacks.

        What is known of those that are set aside is asked anew: the cause may be gone.
        """

    def transactional_ids(self, prefix: str) -> Collection[str]:
        """The transactional ids on the target that begin so."""


class FlowDriver:
    """One flow in this process."""

    def __init__(self, settings: FlowSettings, topics: FlowTopics) -> None:
        self.settings = settings
        self._process = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.owner = self._process  # as of the last take-over
        self._take_overs = 0
        self.totals = FlowTotals()
        self.was_taken_over = False
        self.too_new = ""  # what a newer version has written down for this flow, as far as this one can tell
        self.wants_new_query = False  # whether the flow must be taken over again to go on in another way
        self.followers: list[Callable[[LedgerEntry], None]] = []  # told of every transaction
        self.on_announced: Callable[[], None] = lambda: None  # in the middle of a take-over
        self.trouble: Trouble | None = None
        self.restarts = 0  # of the whole query, after failures
        self.lane_retries = 0  # lanes that Spark started again within an epoch
        self.lanes_ended = 0  # because they said nothing any more
        self.lost_lane = ""  # what is known of a lane that does not even end; until the flow is taken over anew
        self.doings: dict[int, str] = {}  # what each lane of the newest deal said last that it does
        self._slow_followers: set[str] = set()
        self._is_stuck = False  # whether lanes leave something alone that they should copy
        self._planning_since = self._planned_at = math.inf
        self._topics = topics
        self._assignments: Sequence[Assignment] = ()
        self._newcomers = Newcomers()
        self._plan = _Plan([], {})
        self._unswept: Mapping[TopicPartition, str] = {}  # targets where old transactions may still be open, and why
        self._former: Collection[Assignment] = ()  # those of earlier plans among them that are copied no more
        self._sweep_after = _SHORTEST_EPOCH_SECONDS  # from one attempt to end them to the next
        self._look_elsewhere_at = 0.0
        self.deal = 0  # Spark counts epochs from 1 again with every query; deals are never counted again
        self._lanes_begun = 0  # of the newest deal
        self._lanes_done = 0
        self._lane_limit = sys.maxsize  # what fits on the cluster beside other flows
        self._is_paused = False
        self._is_renewed = False
        self._wanted = threading.Event()  # set while the flow is ours
        self.has_lanes = threading.Event()  # set when the first lane has called since the flow became ours
        self._active = threading.Event()  # set while epochs should run: the flow is ours and not paused
        self._drained = threading.Event()  # set when the last epoch is over and no further one will run
        self._lock = threading.Lock()
        self._bookkeeping = Bookkeeping(
            settings.name,
            settings.source.alias,
            settings.target,
            settings.topics,
        )

    @property
    def name(self) -> str:
        """`A->B`."""
        return self.settings.name

    @property
    def in_charge(self) -> threading.Event:
        """Is set while the flow is ours."""
        return self._wanted

    @property
    def owned_from(self) -> int:
        """An offset of the state up to which nobody else has taken over."""
        return self._bookkeeping.state_read_to

    @property
    def assignments(self) -> Sequence[Assignment]:
        """All partitions that the flow mirrors now."""
        return self._assignments

    def mirrored_offsets(self) -> dict[TopicPartition, int]:
        """The last source offset of each partition that is safe on the target, as far as this process knows."""
        known = {source: position.offset for source, position in self._bookkeeping.positions.copy().items()}
        return {**known, **self.totals.last_offsets}

    def take_over(self) -> None:
        """Become the only one who writes for this flow. The order is the guarantee: announce, then find, then fence.

        Every take-over has a name of its own, also within one process: a lane that outlives a failed query must not go
        on beside those of the next one, which may copy its partitions under other transactional ids.

        What the flow was told is looked at after it was announced: whoever closes it writes that down first, and
        announces that then.
        """
        self.too_new = ""
        self._topics.prepare()
        self._take_overs += 1
        self.owner = f"{self._process}-{self._take_overs}"
        self._bookkeeping.announce_owner(self.owner)
        self.on_announced()
        ids = self._lane_ids()
        self.refresh()
        self.totals.set_aside.clear()  # the new lanes try every partition, and tell which they must set aside
        if why := self.why_transactions:
            log.warning("%s: writes in transactions all the same: %s", self.name, why)
        self._fence(ids)
        self._lanes_begun = self._lanes_done = 0
        self.lost_lane = ""
        self._planned_at = math.inf
        self.has_lanes.clear()
        self._wanted.set()
        self._settle()

    def _fence(self, ids: Collection[str]) -> None:
        elsewhere, former = self._writes_elsewhere, self._no_longer_assigned()
        sources = {} if elsewhere else only_sources((*self._assignments, *former))
        targets, left = _targets(self._assignments), _targets(former)
        self._note_unswept(self._bookkeeping.fence(ids, targets, sources, elsewhere, left), former)

    def _fence_lanes(self) -> None:
        """Lock out all lanes; but first make sure that they are ours, and not those of a mirror that has followed."""
        ids = self._lane_ids()
        with self._noting_take_over():
            self._bookkeeping.check_owner(self.owner)
        self._fence(ids)

    def _no_longer_assigned(self) -> set[Assignment]:
        """What lanes of the newest plan have copied too, and what they or others may have left open before."""
        targets = _targets(self._assignments)
        before = {*self._former, *(item for items in self._plan.lanes for item in items)}
        return {item for item in before if item.target not in targets}

    def _sweep(self) -> None:
        """Whatever earlier lanes have left open is ended: nobody else looks at partitions that other lanes get now."""
        now = time.monotonic()
        looks_elsewhere = self._writes_elsewhere and now >= self._look_elsewhere_at
        if looks_elsewhere:
            self._look_elsewhere_at = now + _SHORTEST_EPOCH_SECONDS  # the epochs of flows with SQL are short
        former = self._no_longer_assigned()
        found = self._bookkeeping.find_open(_targets(self._assignments), looks_elsewhere, _targets(former))
        if found.ended:
            self._fence_lanes()
        else:
            self._note_unswept(found.unreachable, former)

    def _note_unswept(self, unswept: Mapping[TopicPartition, str], former: Collection[Assignment]) -> None:
        before, self._unswept = self._unswept, unswept
        self._former = [item for item in former if item.target in unswept]
        if not unswept:
            self._sweep_after = _SHORTEST_EPOCH_SECONDS
        for where, reason in unswept.items():
            if before.get(where) != reason:
                log.warning("%s: what was left open on %s could not be ended: %s", self.name, where, reason)

    @property
    def _writes_elsewhere(self) -> bool:
        """Whether records may also go to other partitions than the targets of the assignments."""
        return self.settings.lane.transforms.chain.is_active

    def shut_out(self, by: str) -> None:
        """Lock out every lane of the flow, wherever it runs, without becoming the one who mirrors."""
        self._topics.prepare()  # an earlier version may have run the flow last
        self._bookkeeping.announce_owner(by)
        self._bookkeeping.fence(self._lane_ids(), ())

    def confirm_owner(self) -> None:
        """Read the ledger; raises, and remembers, when the flow belongs to another mirror by now."""
        with self._noting_take_over():
            self._bookkeeping.refresh(self.owner, {item.source for item in self._assignments})

    @contextmanager
    def _noting_take_over(self) -> Iterator[None]:
        try:
            yield
        except TakenOver:
            self.was_taken_over = True
            raise
        except NewerFormat as error:
            self.too_new = str(error)
            raise

    def refresh(self) -> bool:
        """Look for new topics and partitions; whether there are any changes."""
        renewed, self._is_renewed = self._is_renewed, False
        found = self._topics.find(set(self.totals.set_aside))
        changed = set(found) != set(self._assignments)
        self._assignments = found
        return changed or renewed

    def renew(self, settings: FlowSettings, topics: FlowTopics) -> None:
        """Go on with other settings from the next epoch on; it is the same flow, with the same books."""
        assert (settings.name, settings.topics) == (self.name, self.settings.topics)
        with self._lock:
            self.settings, self._topics = settings, topics
            self._is_renewed = True

    @property
    def is_renewed(self) -> bool:
        """Whether there are new settings that the running epoch does not know of."""
        return self._is_renewed

    def pause(self) -> None:
        """Run no further epochs until `resume`; the flow stays ours."""
        self._drained.clear()
        self._is_paused = True
        self._settle()

    def await_rest(self, seconds: float) -> bool:
        """Wait, after `pause`, until all lanes have committed and ended; whether they did so in time."""
        return self._drained.wait(seconds)

    def resume(self) -> None:
        """Run epochs again."""
        self._is_paused = False
        self._settle()

    @property
    def is_active(self) -> bool:
        """Whether there is something to copy, and it should be copied."""
        return self._active.is_set() and bool(self._assignments)

    def stop(self) -> None:
        """Run no further epochs; `is_drained` tells when the running one is over."""
        self._drained.clear()
        self._wanted.clear()
        self._settle()

    def _settle(self) -> None:
        if self._wanted.is_set() and not self._is_paused:
            self._active.set()
        else:
            self._active.clear()

    @property
    def lanes(self) -> Sequence[Sequence[Assignment]]:
        """Who copies what."""
        return self._plan.lanes

    @property
    def is_drained(self) -> bool:
        """Whether, after `stop`, all lanes have committed and ended."""
        return self._drained.is_set() and not self._wanted.is_set()

    # -- asked by Spark's processes through the control line ------------------------------------------------------

    def next_epoch(self, finished: int) -> int:
        """The epoch after the finished one; the same one again while there is nothing to do."""
        if self._active.wait(_IDLE_ANSWER_SECONDS):
            if self._assignments:
                return finished + 1
            time.sleep(_IDLE_ANSWER_SECONDS)  # Spark asks again at once
        self._drained.set()  # Spark asks only when the epoch before is finished
        return finished

    def lane_tasks(self, epoch: int) -> Sequence[bytes]:
        """Deal the partitions to lanes, by what they had to do in the epoch before."""
        if not self._active.is_set():
            return ()
        self.deal += 1  # first of all: whoever ends the epoch from now on means this one
        if not self._active.is_set():  # whoever has ended it just before meant the one before, but wants no other
            return ()
        self.doings.clear()
        self._is_stuck = False
        self._planning_since, self._planned_at = time.monotonic(), math.inf
        try:
            tasks = self._planned()
            self._planned_at = time.monotonic()
            return tasks
        finally:
            self._planning_since = math.inf

    def _planned(self) -> Sequence[bytes]:
        self._leave_earlier_deals()
        self.confirm_owner()  # may wait, so nobody must wait for it
        with self._lock:
            sources = {item.source for item in self._assignments}
            self._newcomers.look(sources, self._bookkeeping.positions.keys() & sources)
            count = self._lane_count()
            lanes = deal(self._assignments, self._loads() or self.totals.by_partition, count)
            self._plan = _Plan(lanes, dict(self.totals.by_partition))
            share = self.settings.lane.with_share_of(count)
            return [self._task(number, items, share).packed() for number, items in enumerate(lanes)]

    def _leave_earlier_deals(self) -> None:
        """No lane of an earlier deal writes any more, before partitions are dealt to others.

        One that did not say that it is done may be frozen, or cut off from us, and wake up later. First it is written
        down that it must end, should it begin again; then it is locked out, should it be in the middle of its work.
        """
        with self._noting_take_over():  # first of all, for what another mirror has begun must not be ended
            self._bookkeeping.announce_deal(self.owner, self.deal)
        with self._lock:
            has_strays = self._lanes_begun > self._lanes_done
            self._lanes_begun = self._lanes_done = 0
        if has_strays:
            log.warning("%s: a lane did not end well: all lanes are fenced before others begin", self.name)
            self._fence_lanes()
        elif self.settings.lane.is_exactly_once or self._unswept:
            self._sweep()

    def _lane_count(self) -> int:
        return max(1, min(self.settings.max_lanes, len(self._assignments), self._lane_limit))

    def limit_lanes(self, limit: int) -> bool:
        """Use at most so many lanes from the next epoch on; whether the running one has another number of them."""
        with self._lock:
            self._lane_limit = limit
            return bool(self._plan.lanes) and len(self._plan.lanes) != self._lane_count()

    def deal_anew(self, why: str) -> None:
        """Let all lanes commit and begin again, with new connections."""
        self.lane_troubled(why)
        self._is_stuck = True

    def wants_new_plan(self) -> bool:
        """Whether the epoch should end early: old transactions can perhaps be ended now, or the load has shifted.

        Partitions that were set aside are tried again by their lanes, which takes the others less than a new epoch.
        """
        with self._lock:
            if self._is_stuck:
                return True
            age = time.monotonic() - self._plan.made_at
            if self._unswept and age >= self._sweep_after:
                self._sweep_after = min(2 * self._sweep_after, _LONGEST_UNSWEPT_SECONDS)
                return True
            return age >= _SHORTEST_EPOCH_SECONDS and is_worth_a_new_deal(self._plan.lanes, self._loads())

    @property
    def has_set_aside(self) -> bool:
        """Whether the topics of partitions may have been changed so that they can go on."""
        return bool(self.totals.set_aside)

    def waits_long_for(self) -> str:
        """What keeps lanes from beginning, if that takes long."""
        now = time.monotonic()
        if (seconds := now - self._planning_since) > _LONG_PLANNING_SECONDS:
            return f"the lanes of the next epoch are being planned for {seconds:.0f} s"
        with self._lock:
            missing, seconds = len(self._plan.lanes) - self._lanes_begun, now - self._planned_at
        if self._awaits_all_lanes and self.is_active and missing > 0 and seconds > _LONG_START_SECONDS:
            return f"{missing} lanes have not begun for {seconds:.0f} s: Spark has not started their tasks"
        return ""

    @property
    def _awaits_all_lanes(self) -> bool:
        """Whether every lane calls as it begins."""
        return True

    def _loads(self) -> dict[TopicPartition, int]:
        """What has been copied since the plan was made, in bytes per partition."""
        before = self._plan.copied_before
        now = self.totals.by_partition
        return {where: size - before.get(where, 0) for where, size in now.items() if size > before.get(where, 0)}

    def lane_began(self, deal: int) -> None:
        """Count the lanes that had to begin more than once."""
        self.has_lanes.set()
        with self._lock:
            if deal != self.deal:
                return  # it comes too late, and finds that out from the ledger
            self._lanes_begun += 1
            self.lane_retries += self._lanes_begun > len(self._plan.lanes)

    def lane_done(self, deal: int) -> None:
        """Count the lanes that write no more."""
        with self._lock:
            self._lanes_done += deal == self.deal

    def lane_progressed(self, entry: LedgerEntry) -> None:
        """Count what a lane has committed, and say aloud what else happened."""
        with self._lock:
            self.totals.add(entry)
            if self.trouble is not None and self.trouble.lane in (None, entry.lane):
                self.trouble = None
        self._tell_followers(entry)
        for event in entry.events:
            if event.kind is not EventKind.DEAD_LETTERS:  # of which the file says whether they are logged
                log.log(logging.INFO if event.kind is EventKind.RESUMED else logging.ERROR, "%s: %s", self.name, event)

    def _tell_followers(self, entry: LedgerEntry) -> None:
        """Without our lock, and in the thread of the lane's line: whoever is slow holds up that lane alone."""
        for follower in list(self.followers):
            began = time.monotonic()
            follower(entry)
            if (seconds := time.monotonic() - began) > _SLOW_FOLLOWER_SECONDS:
                name = getattr(follower, "__qualname__", repr(follower))
                level = logging.DEBUG if name in self._slow_followers else logging.WARNING
                self._slow_followers.add(name)
                log.log(level, "%s: %s took %.1f s for a transaction: its lane waits", self.name, name, seconds)

    def lane_troubled(self, trouble: str) -> None:
        """Say aloud what holds a lane up."""
        self.trouble = Trouble(trouble)
        log.warning("%s: %s", self.name, trouble)

    def lane_pulsed(self, deal: int, pulse: Pulse) -> None:
        """Note what a lane does."""
        if deal == self.deal:
            self.doings[pulse.lane] = pulse.doing

    def lane_hangs(self, lane: int, trouble: str, stack: str) -> None:
        """Say aloud where a lane hangs, which is ended now, and begins again."""
        self.lanes_ended += 1
        self.trouble = Trouble(f"{trouble}; its process is ended, and it begins again", lane)
        log.error("%s: %s\n%s", self.name, self.trouble.text, stack or "its stack is not known")

    def lane_lost(self, lane: int, trouble: str) -> None:
        """Let the flow be taken over anew, which locks out a lane that cannot be ended."""
        self.trouble = Trouble(trouble, lane)
        self.lost_lane = trouble

    def failed(self, why: str) -> None:
        """Note that all lanes have to begin again, and why."""
        self.trouble = Trouble(why)
        self.restarts += 1

    def _lane_ids(self) -> set[str]:
        """The transactional ids of all lanes that this flow has ever had, and of those that it will have now."""
        found = self._topics.transactional_ids(self._id_prefix)
        ours = {name for name in found if _LANE_ID.fullmatch(name.removeprefix(self._id_prefix))}  # not of `a->b-c`
        return ours.union(*(self._ids_of(lane) for lane in range(self.settings.max_lanes)))

    def _ids_of(self, lane: int, turns: str = _TURNS) -> tuple[str, ...]:
        return tuple(f"{self._id_prefix}{lane}{turn}" for turn in turns)

    @property
    def _leaves_busy_ids(self) -> bool:
        """Whether lanes write under other ids while some are busy."""
        return True

    @property
    def _targets_are_shared(self) -> bool:
        """Whether several partitions are copied to the same one, so that its end does not tell how far each is."""
        return len(_targets(self._assignments)) < len(self._assignments)

    @property
    def why_transactions(self) -> str:
        """Why the flow writes in transactions, though it was told to do without; empty if it was not, or does."""
        lane = self.settings.lane
        if not lane.by_sequences or not lane.is_exactly_once:
            return ""
        if not lane.commits_by_sequences:
            return "its transforms may drop records, add some or send them elsewhere"
        return "several partitions are copied to the same one" if self._targets_are_shared else ""

    @property
    def _id_prefix(self) -> str:
        return f"heliograph-{self.name}-"

    def _task(self, lane: int, items: Sequence[Assignment], share: LaneSettings) -> LaneTask:
        settings, books = self.settings, self._bookkeeping
        if share.commits_by_sequences and self._targets_are_shared:
            share = replace(share, by_sequences=False)
        sources = {item.source for item in items}
        topics = {source.topic for source in sources}
        spares, gates = (self._ids_of(lane, turns if self._leaves_busy_ids else "") for turns in (_SPARES, _GATE))
        plan = LanePlan(
            flow=self.name,
            lane=lane,
            owner=self.owner,
            deal=self.deal,
            transactional_ids=self._ids_of(lane),
            topics=settings.topics,
            assignments=tuple(items),
            positions={source: position for source, position in books.positions.items() if source in sources},
            offsets_read_to=dict(books.offsets_read_to),
            state_read_to=books.state_read_to,
            announced=frozenset(self.totals.producer_ids.get(lane, ())),
            left_out={topic: settings.left_out(topic) for topic in topics},
            set_aside={source: reason for source, reason in self.totals.set_aside.items() if source in sources},
            writes_elsewhere=self._writes_elsewhere,
            added=frozenset(sources & self._newcomers.added),
            spare_ids=spares,
            gate_id="".join(gates),
            endings=books.endings({*self._ids_of(lane), *spares}),
            name=f"{self._id_prefix}{lane}",
        )
        return LaneTask(plan, settings.source, settings.target, share, settings.epoch_seconds)


def _targets(assignments: Iterable[Assignment]) -> set[TopicPartition]:
    return {assignment.target for assignment in assignments}
