"""The driver of detection on one cluster: who does it, when the next epoch begins, and what has come of it."""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Sequence

from heliograph.conflicts.totals import ConflictTotals, PassedBy
from heliograph.due import Due
from heliograph.engine.cluster_log import ClusterLog
from heliograph.engine.conflicts.books import DetectionBooks
from heliograph.engine.conflicts.planner import Planner
from heliograph.engine.conflicts.progress import KnownProgress
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.conflicts.settings import DetectionSettings, Surroundings
from heliograph.engine.conflicts.task_writer import TaskReport, WriterSettings
from heliograph.engine.pulse import Pulse
from heliograph.errors import ClusterError, NewerFormat, TakenOver

log = logging.getLogger(__name__)

_PACE_SECONDS = 2.0  # between the beginnings of two epochs
_LOOK_SECONDS = 0.25
_OWNER_SECONDS = 10.0
_PAUSE_AFTER_TROUBLE = 1.0
_TOLD_AT_ONCE = 10
_LONG_EPOCH_SECONDS = 120.0  # one with much to read takes half a minute


class DetectionDriver:
    """Detection on one cluster, in this process."""

    def __init__(self, settings: DetectionSettings, surroundings: Surroundings) -> None:
        self.settings = settings
        self.totals = ConflictTotals()
        self.was_taken_over = False
        self.too_new = ""  # what a newer version has written down, as far as this one can tell
        self.wants_new_query = False  # because there are new views, or topics that were made anew
        self.lost_lane = ""  # what is known of a task that does not even end; until it is taken over anew
        self.doings: dict[int, str] = {}  # what each task said last that it does, in the current epoch
        self.is_renewed = False
        self.has_set_aside = False
        self.is_active = False  # flows need not wait with their start until it has begun
        self.has_lanes = threading.Event()
        self._surroundings = surroundings
        self._books = DetectionBooks(settings)
        self._log = ClusterLog(settings.access)
        self._owner = ""
        self._wanted = threading.Event()
        self._drained = threading.Event()
        self._lock = threading.Lock()
        self._scope = Scope()
        self._planner = Planner(settings, self._log, KnownProgress(), self._owner)
        self._reports: dict[int, TaskReport] = {}  # of the current epoch, by task
        self._running_since = math.inf  # the epoch that tasks are at work on
        self._pace, self._owner_due = Due(_PACE_SECONDS), Due(_OWNER_SECONDS)

    @property
    def name(self) -> str:
        """What it is called in logs."""
        return self.settings.name

    @property
    def writer_settings(self) -> WriterSettings:
        """What tasks need to write."""
        views = {topic: view for view, topic in self._scope.views.items()}
        settings = self.settings
        return WriterSettings(settings.access, settings.progress_topic, settings.id_prefix, settings.tasks, views)

    # -- life -----------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Become the only one who decides on this cluster, and find out where to go on."""
        self.wants_new_query, self.too_new = False, ""
        self.lost_lane, self._running_since = "", math.inf
        self._scope = self._surroundings.look()
        self._owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        known = self._books.take_over(self._owner, self._scope.views)
        if made_anew := known.topics_made_anew(self._scope.topic_ids):
            log.error("%s: made anew, so read from the beginning: %s", self.name, ", ".join(sorted(made_anew)))
            known = known.without(made_anew)
        with self._lock:
            self._planner, self._reports = Planner(self.settings, self._log, known, self._owner), {}
        self._wanted.set()

    def confirm_owner(self) -> None:
        """Raise, and remember, when detection belongs to another mirror by now."""
        try:
            self._books.confirm_owner(self._owner)
        except TakenOver:
            self.was_taken_over = True
            raise

    def refresh(self) -> bool:
        """Nothing to do: every plan looks for new topics and partitions."""
        return False

    def wants_new_plan(self) -> bool:
        """Every epoch has a new one."""
        return False

    def failed(self, why: str) -> None:
        """Note that it has to begin again, and why."""
        self.totals.trouble = why
        self.totals.restarts += 1

    def stop(self) -> None:
        """Run no further epochs."""
        self._drained.clear()
        self._wanted.clear()

    @property
    def is_drained(self) -> bool:
        """Whether, after `stop`, the last epoch is over."""
        return self._drained.is_set() and not self._wanted.is_set()

    # -- asked by Spark's processes through the control line ------------------------------------------------------

    @property
    def deal(self) -> int:
        """Its tasks are short and never told to end, so the number of the epoch serves."""
        return self._planner.epoch.number

    def next_epoch(self, finished: int) -> int:
        """The epoch after the finished one, as soon as there is something to read or to settle."""
        if finished < self._planner.epoch.number:
            return self._planner.epoch.number
        self._running_since = math.inf
        if not self._wanted.is_set():
            self._hang_up()
            self._drained.set()
        elif self._plans():
            return finished + 1
        time.sleep(_LOOK_SECONDS)
        return finished

    def lane_tasks(self, epoch: int) -> Sequence[bytes]:
        """What each task of an epoch reads."""
        return self._planner.epoch.tasks

    def lane_done(self, deal: int) -> None:
        """A task says all in its report."""

    def lane_began(self, deal: int) -> None:
        """A task has begun to write."""
        self.has_lanes.set()

    def lane_progressed(self, report: object) -> None:
        """Count what a task has committed, or could not read, once."""
        if isinstance(report, list):
            self._pass_by(report)
            return
        assert isinstance(report, TaskReport)
        with self._lock:
            if report.epoch == self._planner.epoch.number and report.task not in self._reports:
                self._reports[report.task] = report
                self._count(report)

    def lane_troubled(self, trouble: str) -> None:
        """Say aloud what holds it up."""
        self.totals.trouble = trouble
        log.warning("%s: %s", self.name, trouble)

    def waits_long_for(self) -> str:
        """What an epoch waits for, if it takes long."""
        seconds = time.monotonic() - self._running_since
        if seconds <= _LONG_EPOCH_SECONDS:
            return ""
        with self._lock:
            told, doings = len(self._reports), Counter(self.doings.values())
        what = ", ".join(f"{count} {doing}" for doing, count in sorted(doings.items())) or "none has begun"
        return f"an epoch takes {seconds:.0f} s by now; tasks: {told} of {self.settings.tasks} done; last told: {what}"

    def lane_pulsed(self, deal: int, pulse: Pulse) -> None:
        """Note what a task does."""
        with self._lock:
            self.doings[pulse.lane] = pulse.doing

    def lane_hangs(self, lane: int, trouble: str, stack: str) -> None:
        """Say aloud where a task hangs, which is ended now, and begins again."""
        self.totals.trouble = f"a task of detection hangs: {trouble}; its process is ended, and it begins again"
        log.error("%s: %s\n%s", self.name, self.totals.trouble, stack or "its stack is not known")

    def lane_lost(self, lane: int, trouble: str) -> None:
        """Begin anew, which locks out a task that cannot be ended."""
        self.totals.trouble = self.lost_lane = f"a task of detection hangs: {trouble}"

    def _pass_by(self, found: Sequence[PassedBy]) -> None:
        with self._lock:
            new = self.totals.pass_by(found)
        for item in new[:_TOLD_AT_ONCE]:
            log.error("%s: %s", self.name, item)
        if len(new) > _TOLD_AT_ONCE:
            log.error("%s: %d more places passed by", self.name, len(new) - _TOLD_AT_ONCE)

    def _plans(self) -> bool:
        """Whether there is something to do, and a plan for it."""
        try:
            if self._owner_due.is_due():
                self.confirm_owner()
            if not self._pace.is_due():
                return False
            until_ms = self._brought_until_ms()
            if until_ms is None:
                return False
            with self._lock:
                if not self._planner.plan(self._scope, until_ms, self._settles_after_ms()):
                    return False
                self._reports = {}
                self.doings.clear()
                self._running_since = time.monotonic()
                return True
        except TakenOver:
            return False
        except NewerFormat as error:
            self.too_new = str(error)
            return False
        except ClusterError as error:
            self._hang_up()
            self.lane_troubled(str(error))
            time.sleep(_PAUSE_AFTER_TROUBLE)
            return False

    def _brought_until_ms(self) -> int | None:
        """Up to when all that was written elsewhere is known to be here; None: begin anew.

        What flows bring to a topic that was not there when topics were looked for is not known yet.
        """
        now_ms = int(time.time() * 1000)
        brought = self._surroundings.brought()
        scope = self._surroundings.look()
        if not self._scope.is_continued_by(scope):
            self.wants_new_query = True
            return None
        self._scope = scope
        return min(now_ms, brought.until_ms) if brought.partitions <= set(scope.partitions) else 0

    def _hang_up(self) -> None:
        self._log.close()
        self._surroundings.hang_up()

    def _settles_after_ms(self) -> int | None:
        """A watermark after this time settles something, by what the buckets have told."""
        marks = [mark for report in self._reports.values() for mark in report.marks.values()]
        oldest = [mark.oldest_ms for mark in marks if mark.oldest_ms is not None]
        return min(oldest) + self.settings.bounds.window_ms if oldest else None

    def _count(self, report: TaskReport) -> None:
        totals = self.totals
        for mark in report.marks.values():
            totals.records += mark.records
            totals.late += mark.late
        for topic, count in report.told.items():
            totals.conflicts += count
            totals.by_topic[topic] = totals.by_topic.get(topic, 0) + count
        marks = [mark for item in self._reports.values() for mark in item.marks.values()]
        totals.waiting = sum(mark.waiting for mark in marks)
        totals.watermark_ms = max(0, min((mark.watermark_ms for mark in marks), default=0))
        totals.trouble = ""
