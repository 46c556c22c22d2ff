"""One flow of this process while it runs: its driver, its chores, what is measured of it, what it was told to do."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control import duties
from heliograph.control.chore_book import ChoreBook
from heliograph.control.chores import Chore, ChoreReport, Chores
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.connector import Connector, RunState
from heliograph.control.flow_settings import flow_settings
from heliograph.control.history import History, Point
from heliograph.control.lag_watch import LagWatch, PartitionLag
from heliograph.control.map_keeper import MapKeeper
from heliograph.control.meter import FlowMeter
from heliograph.control.owner_watch import OwnerWatch
from heliograph.control.position_summaries import PositionSummaries
from heliograph.control.producer_pages import ProducerPages
from heliograph.control.sight_book import SightBook
from heliograph.control.standing import Standing
from heliograph.control.stuck import STUCK_SECONDS, StuckPartitions
from heliograph.engine.flow import FlowDriver
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.rules import SqlRules
from heliograph.errors import HeldUp
from heliograph.model import Assignment, Event, EventKind, LedgerEntry, TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.translation import Ledgers

log = logging.getLogger(__name__)

_KEPT_EVENTS = 1000
ORDERS_SECONDS = 5.0  # how soon a mirror does what others have written down
_LANES_SECONDS = 2.0
_STALLED_SECONDS = 30.0
_BLIND_SECONDS = 20.0  # without knowing where the source ends


class FlowHealth(Enum):
    """How a flow is, in one word; the worse the later."""

    UP_TO_DATE = "up to date"
    COPYING = "copying"
    HEARTBEATS_ONLY = "heartbeats only"
    PAUSED = "paused"
    STOPPED = "stopped"
    STARTING = "starting"
    DEGRADED = "degraded"  # partitions are set aside, or something beside copying fails
    STALLED = "stalled"  # there is something to copy, and nothing was copied for a while
    FAILING = "failing"  # tries again and again
    ENDED = "ended"  # for good

    @property
    def is_good(self) -> bool:
        """Whether nobody needs to look."""
        return self in (FlowHealth.UP_TO_DATE, FlowHealth.COPYING, FlowHealth.HEARTBEATS_ONLY)


@dataclass(frozen=True)
class LaneState:
    """One lane, as Kafka Connect would show a task."""

    number: int
    assignments: Sequence[Assignment]
    failures: Sequence[str]  # why some of its partitions, or all, do not go on
    doing: str = ""  # what it said last that it does, or waits for


class RunningFlow:
    """A pair of clusters in this process; without a driver it only writes heartbeats."""

    def __init__(self, config: MirrorConfig, flow: FlowConfig, ledgers: Ledgers) -> None:
        self.config = flow
        self.meter = FlowMeter()
        self.driver = TableFlowDriver(flow_settings(flow), ClusterTopics(flow), _rules(flow)) if flow.enabled else None
        self.lag_watch = LagWatch(self.driver) if self.driver else None
        self.history = History(self._measure)
        self.states = dict.fromkeys(Connector if self.driver else (Connector.HEARTBEAT,), RunState.RUNNING)
        self.has_ended: Callable[[], bool] = lambda: False
        self.follow_orders: Callable[[], str] = lambda: ""
        self._started_at = time.monotonic()
        self._events: deque[Event] = deque(maxlen=_KEPT_EVENTS)
        self._lock = threading.Lock()
        self._stuck = StuckPartitions()
        self._ledgers = ledgers
        self.groups = GroupOffsets(flow, config.opposite_of(flow), ledgers)
        self._is_started = False
        self._chores = self._make_chores(config)

    @property
    def name(self) -> str:
        """`A->B`."""
        return self.config.name

    # -- what it does ---------------------------------------------------------------------------------------------

    def start_chores(self) -> None:
        """Begin what is done beside copying."""
        with self._lock:
            self._is_started = True
            self._chores.start()

    def begin_stop(self) -> None:
        """Begin no new round of any chore."""
        self._chores.begin_stop()

    def stop_chores(self, timeout: float) -> None:
        """Wait for chores that are under way."""
        self._chores.stop(timeout)

    def renew(self, config: MirrorConfig) -> None:
        """Go on with the settings of another configuration: lanes from their next epoch on, chores anew."""
        flow = config.flow(self.name)
        assert flow is not None
        self.config = flow
        if self.driver is not None:
            self.driver.renew(flow_settings(flow), ClusterTopics(flow))
            self.driver.renew_rules(_rules(flow))
        self.renew_chores(config)

    def renew_chores(self, config: MirrorConfig) -> None:
        """Stop all chores, and begin them from scratch."""
        with self._lock:
            if self._is_started:
                self._chores.stop()
            self.groups = GroupOffsets(self.config, config.opposite_of(self.config), self._ledgers)
            self._chores = self._make_chores(config)
            if self._is_started:
                self._chores.start()

    def _make_chores(self, config: MirrorConfig) -> Chores:
        """Heartbeats begin at once; what watches always runs; all else when the flow is ours."""
        chores = Chores(self.name, map(self._gated, duties.heartbeats(self.config)))
        driver, lag_watch = self.driver, self.lag_watch
        if driver is None or lag_watch is None:
            return chores
        driver.followers[:] = [self.meter.mirrored, self._note]
        own = [Standing(driver).chore(), OwnerWatch(driver).chore(), ChoreBook(driver, chores.reports).chore()]
        own += [SightBook(driver, lag_watch).chore(), ProducerPages(driver).chore(), PositionSummaries(driver).chore()]
        if driver.settings.lane.is_exactly_once:
            own.append(MapKeeper(driver, self._ledgers.of(self.config)).chore())
        for chore in (*duties.duties(config, self.config, driver, self.groups, self.meter), *own):
            chores.add(self._gated(chore, driver.in_charge.is_set))
        orders = Chore("orders", ORDERS_SECONDS, lambda: self.follow_orders())
        lanes = Chore("lanes", _LANES_SECONDS, self._look_at_lanes, is_quiet=True)
        for chore in (lag_watch.chore(), self.history.chore(), orders, lanes):
            chores.add(chore)
        return chores

    def _gated(self, chore: Chore, is_ours: Callable[[], bool] = lambda: True) -> Chore:
        connector = chore.connector

        def may_run() -> bool:
            is_wanted = connector is None or self.states[connector] is RunState.RUNNING
            return is_wanted and is_ours()

        return replace(chore, may_run=may_run)

    def _note(self, entry: LedgerEntry) -> None:
        self._events.extend(replace(event, at_ms=entry.written_at_ms) for event in entry.events)
        if self.config.get("errors.log.enable") is True:
            for event in entry.events:
                if event.kind is EventKind.DEAD_LETTERS:
                    log.warning("%s: %s", self.name, self._told(event))

    def _told(self, event: Event) -> str:
        """A failure for the log, with the place of the record only if that is wanted there."""
        if self.config.get("errors.log.include.messages") is not True:
            return event.reason
        return f"{event.source}, from offset {event.from_offset} on: {event.reason}"

    # -- how it is ------------------------------------------------------------------------------------------------

    def reports(self) -> list[ChoreReport]:
        """How the chores are getting on."""
        return self._chores.reports()

    def events(self) -> Sequence[Event]:
        """What has happened since this process began, the oldest first."""
        return list(self._events)

    def set_aside(self) -> Mapping[TopicPartition, str]:
        """Source partitions that cannot go on, and why."""
        return self.driver.totals.set_aside.copy() if self.driver else {}

    def lags(self) -> Mapping[TopicPartition, PartitionLag]:
        """How far each source partition is behind."""
        return self.lag_watch.lags() if self.lag_watch else {}

    def health(self) -> FlowHealth:
        """How it is, in one word."""
        driver = self.driver
        if driver is None:
            failing = any(report.failure for report in self.reports())
            return FlowHealth.DEGRADED if failing else FlowHealth.HEARTBEATS_ONLY
        if self.has_ended():
            return FlowHealth.ENDED
        if driver.trouble is not None and driver.trouble.is_current:
            return FlowHealth.FAILING
        if not driver.in_charge.is_set():
            return FlowHealth.STARTING
        if self.states[Connector.SOURCE] is not RunState.RUNNING:
            return FlowHealth(self.states[Connector.SOURCE].value.lower())
        if driver.is_active and not driver.has_lanes.is_set():
            return FlowHealth.STARTING
        if self._is_stalled(driver):
            return FlowHealth.STALLED
        if driver.totals.set_aside or any(report.failure for report in self.reports()):
            return FlowHealth.DEGRADED
        return FlowHealth.COPYING if any(lag.records for lag in self.lags().values()) else FlowHealth.UP_TO_DATE

    def _is_stalled(self, driver: FlowDriver) -> bool:
        assert self.lag_watch is not None
        if self.lag_watch.seconds_since_look() > _BLIND_SECONDS:
            return True
        aside = driver.totals.set_aside
        waits = any(lag.records for where, lag in self.lags().items() if where not in aside)
        idle = time.time() - driver.totals.last_commit_ms / 1000
        return waits and min(idle, time.monotonic() - self._started_at) > _STALLED_SECONDS

    def lanes(self) -> list[LaneState]:
        """The lanes of the current epoch; none while it is stopped or not ours."""
        driver = self.driver
        if driver is None or self.states[Connector.SOURCE] is RunState.STOPPED:
            return []
        trouble = [driver.trouble.text] if driver.trouble and driver.trouble.is_current else []
        aside, doings = self.set_aside(), driver.doings.copy()
        return [
            LaneState(number, items, [*trouble, *_reasons(items, aside)], doings.get(number, "starting"))
            for number, items in enumerate(driver.lanes)
        ]

    def _look_at_lanes(self) -> str:
        """What lanes do. What holds them up is a failure, so that `status` shows it from any machine."""
        assert self.driver is not None
        self._look_for_stuck_partitions(self.driver)
        trouble, doings = self.driver.trouble, Counter(self.driver.doings.copy().values())
        if trouble is not None and trouble.is_current:
            raise HeldUp(trouble.lasting)
        return ", ".join(f"{count} {doing}" for doing, count in sorted(doings.items()))

    def _look_for_stuck_partitions(self, driver: FlowDriver) -> None:
        """Whatever the reason is that nobody copies them: new sessions ask the source anew."""
        assert self.lag_watch is not None
        if self.lag_watch.seconds_since_look() > _BLIND_SECONDS or not driver.is_active:
            self._stuck.forget()
            return
        now = time.monotonic()
        aside = self.set_aside().keys() | self.lag_watch.left_out.keys()
        stuck = self._stuck.look(now, self.lags(), driver.lanes, driver.doings.copy(), aside)
        if stuck:
            self._stuck.forget()
            which = f"{stuck[0]}" if len(stuck) == 1 else f"{len(stuck)} partitions, such as {stuck[0]},"
            driver.deal_anew(f"{which} lay still for {STUCK_SECONDS:.0f} s while lanes were idle: all lanes begin anew")

    def _measure(self) -> Point:
        now_ms = int(time.time() * 1000)
        lags, minute = self.lags().values(), self.meter.whole.window(now_ms, 10)
        return Point(
            now_ms,
            sum(lag.records for lag in lags),
            max((lag.seconds for lag in lags), default=0.0),
            minute.records_per_second,
            minute.bytes_per_second,
            minute.latency_avg,
            minute.latency_max,
        )


def _reasons(items: Iterable[Assignment], aside: Mapping[TopicPartition, str]) -> list[str]:
    return [f"{item.source}: {aside[item.source]}" for item in items if item.source in aside]


def _rules(flow: FlowConfig) -> SqlRules | None:
    return SqlRules(flow.sql) if flow.sql else None
