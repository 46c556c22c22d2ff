"""All flows of one process on one Spark session: start, keep running, drain, stop."""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from heliograph.due import Due
from heliograph.engine.conflicts.detection_query import detection_rows
from heliograph.engine.conflicts.driver import DetectionDriver
from heliograph.engine.control import ControlServer
from heliograph.engine.dealing import fair_shares
from heliograph.engine.flow import FlowDriver
from heliograph.engine.jvm_watch import watch_jvm
from heliograph.engine.session import start_session
from heliograph.engine.slots import SteadySlots
from heliograph.engine.source import MirrorSource
from heliograph.engine.spark_cluster import cluster_slots, control_addresses, is_local
from heliograph.engine.state_folders import StateFolders, remove
from heliograph.engine.submission import submitted_settings
from heliograph.engine.tables.driver import TableFlowDriver
from heliograph.engine.tables.flow_query import computing_settings, flow_rows
from heliograph.errors import ClusterError, EngineFailed, HeliographError, LaneLost, NewerFormat, StartError, TakenOver

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0
_LONG_ENOUGH = 30.0
_LOOK_INTERVAL = 0.1
_TELL_SECONDS = 10.0
_LONG_WAIT_SECONDS = 60.0  # a cold start of Spark takes 8 s, and many flows start one after the other
_PYTHON_ERROR = re.compile(r"(heliograph\.errors\.\w+|[\w.]+(Error|Exception)): ")
_RECONSIDER_SECONDS = 10.0
_LOOK_AGAIN_SECONDS = 60.0  # at topics of partitions that were set aside: somebody may have changed them
_STARTS_AT_ONCE = 2
_SLOTS_INTERVAL = 0.5
_NO_EXECUTORS_SECONDS = 30.0
_SPARE_SLOTS = 16  # for lanes of flows that are given more of them while they run; an idle slot costs nothing


Driver = FlowDriver | DetectionDriver


class Mirror:
    """Runs flows, and detection of conflicts, until stopped: each in a thread and a streaming query of its own."""

    def __init__(self, flows: Sequence[Driver], spark_settings: Mapping[str, str]) -> None:
        self._flows = flows
        self._spark_settings = {**submitted_settings(), **spark_settings}
        self._formats = {flow.name: f"heliograph_{number}" for number, flow in enumerate(flows)}
        self.slots = sum(flow.settings.max_lanes for flow in flows) + _SPARE_SLOTS
        is_here = is_local(self._spark_settings)
        self._control = ControlServer(*control_addresses(self._spark_settings), has_lanes_here=is_here)
        for flow in flows:
            self._control.add_flow(flow.name, flow)
        # The truth about progress is on the target; Spark only needs a place to count epochs and to write its log.
        self._folder = Path(tempfile.mkdtemp(prefix="heliograph-spark-"))
        self._spark: SparkSession | None = None
        self._spark_is_up = threading.Event()
        self._stopping = threading.Event()
        self._starting = threading.Semaphore(_STARTS_AT_ONCE)
        self._failure: HeliographError | None = None
        # Daemons, so that one that hangs cannot keep the process from ending.
        self._threads = {flow.name: self._thread(flow) for flow in flows}

    def start(self) -> None:
        """Begin to mirror, each flow on its own. Flows are taken over while Spark starts."""
        for thread in self._threads.values():
            thread.start()
        try:
            settings = {**self._needs(), **self._spark_settings}
            self._spark = start_session(self.slots, settings, self._folder / "spark.log")
            watch_jvm(self._spark)
            # One registration for each flow: Spark changes a registered source's environment while it starts a query,
            # and two queries that share it can garble each other's tasks.
            for format_name in self._formats.values():
                self._spark.dataSource.register(MirrorSource.bound_to(self._control.address, format_name))
        except (PySparkException, Py4JError, OSError) as error:
            self._stopping.set()
            raise StartError(f"Spark does not start: {_first_line(error)}; its log is in {self._folder}") from error
        finally:
            if self._spark is None or is_local(self._spark_settings):
                self._spark_is_up.set()
            else:
                threading.Thread(target=self._follow_slots, args=(self._spark,), name="slots", daemon=True).start()

    def _follow_slots(self, spark: SparkSession) -> None:
        """Let flows have as many lanes as fit on the cluster. They begin when there is an executor."""
        slots = SteadySlots(lambda: cluster_slots(spark.sparkContext), self.slots)
        warn, known, wishes = Due(_NO_EXECUTORS_SECONDS), 0, self._wishes()
        with suppress(Py4JError, OSError):  # the JVM has ended, which the flows notice themselves
            while not self._stopping.wait(_SLOTS_INTERVAL):
                if slots.changed() or (known and wishes != self._wishes()):
                    self._fit_into(slots.believed, is_larger=slots.believed > known)
                    self._spark_is_up.set()
                    known, wishes = slots.believed, self._wishes()
                elif not known and warn.is_due():
                    log.warning("Spark has given no executors yet: has the cluster free cores and memory?")
        self._spark_is_up.set()

    def _wishes(self) -> dict[FlowDriver, int]:
        """How many lanes each flow may have."""
        return {flow: flow.settings.max_lanes for flow in self._flows if isinstance(flow, FlowDriver)}

    def _fit_into(self, slots: int, is_larger: bool) -> None:
        """Share the slots out among flows; detection, whose tasks are short, shares one of them.

        On a cluster that has grown all lanes are placed anew, so that new machines get theirs.
        """
        wishes = self._wishes()
        needed = len(wishes) + (len(wishes) < len(self._flows))
        if slots < needed:
            log.error("the Spark cluster runs %d tasks at once, and %d are needed: some wait in vain", slots, needed)
        shares = fair_shares(list(wishes.values()), slots - needed + len(wishes))
        for flow, share in zip(wishes, shares, strict=True):
            if flow.limit_lanes(share) or (is_larger and len(flow.lanes) > 1):
                log.info("%s: deals its lanes anew: the Spark cluster runs %d tasks at once now", flow.name, slots)
                self._control.end_epoch(flow.name)

    def _needs(self) -> Mapping[str, str]:
        """What Spark needs beside its usual settings."""
        computes = any(
            isinstance(flow, DetectionDriver) or (isinstance(flow, TableFlowDriver) and flow.rules is not None)
            for flow in self._flows
        )
        return computing_settings() if computes else {}

    @property
    def is_running(self) -> bool:
        """Whether a flow is still at work or will try again."""
        return any(thread.is_alive() for thread in self._threads.values())

    def is_alive(self, flow: Driver) -> bool:
        """Whether a flow is still at work or will try again."""
        return self._threads[flow.name].is_alive()

    def pause(self, flow: FlowDriver) -> None:
        """Let the lanes of a flow commit what they have, and start no further ones until it is resumed."""
        flow.pause()
        self._control.end_epoch(flow.name)

    def restart(self, flow: FlowDriver) -> None:
        """Let a flow begin from scratch: commit, take over again, plan again; also one that had ended for good."""
        flow.stop()
        self._control.end_epoch(flow.name)
        if not self.is_alive(flow) and not self._stopping.is_set():
            flow.was_taken_over = False
            self._threads[flow.name] = self._thread(flow)
            self._threads[flow.name].start()

    def _thread(self, flow: Driver) -> threading.Thread:
        return threading.Thread(target=self._run, args=(flow,), name=flow.name, daemon=True)

    @property
    def failure(self) -> HeliographError | None:
        """Why the last flow ended, if not because it was asked to."""
        return self._failure

    def stop(self, timeout: float = 15) -> bool:
        """Let lanes commit what they have, and end; whether all did so in time."""
        self._stopping.set()
        for flow in self._flows:
            flow.stop()
            self._control.end_epoch(flow.name)
        deadline = time.monotonic() + timeout
        for thread in self._threads.values():
            thread.join(max(0.0, deadline - time.monotonic()))
        drained = not self.is_running
        self._control.close()
        if self._spark is not None:
            with suppress(Py4JError, OSError):
                self._spark.stop()
        if self._failure is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        return drained

    def _run(self, flow: Driver) -> None:
        """Keep one flow running: begin again after a failure, ever more patiently, unless it is no longer ours."""
        pause = _FIRST_PAUSE
        try:
            while not self._stopping.is_set():
                began = time.monotonic()
                try:
                    flow.take_over()
                    self._await(flow, lambda: self._spark_is_up.wait(_LOOK_INTERVAL), "Spark to start")
                    if self._spark is not None and not self._stopping.is_set():
                        with self._checkpoint_of(flow, self._spark) as folder:
                            self._follow(flow, self._start_query(flow, self._spark, folder))
                except (ClusterError, LaneLost, PySparkException, Py4JError, OSError) as error:
                    self._give_up_if_hopeless(flow, error)
                    pause = _FIRST_PAUSE if time.monotonic() - began > _LONG_ENOUGH else min(pause * 2, _LONGEST_PAUSE)
                    flow.failed(_first_line(error))
                    log.error("%s: %s; starting again in %.1f s", flow.name, _first_line(error), pause)
                    self._stopping.wait(pause)
        except HeliographError as error:
            log.error("%s: %s", flow.name, error)
            self._failure = error
            flow.failed(str(error))
            flow.stop()  # also what is done beside the lanes
        except Exception as error:  # a thread has nobody to raise to: the process ends with this failure
            log.exception("%s: unexpected failure", flow.name)
            self._failure = EngineFailed(f"{flow.name}: {error!r}")
            flow.failed(repr(error))
            flow.stop()

    def _await(self, flow: Driver, is_there: Callable[[], bool], what: str) -> bool:
        """Wait for something within this process until we are to stop; what takes long is told. Whether it is there."""
        began, tell = time.monotonic(), Due(_TELL_SECONDS)
        while not self._stopping.is_set():
            if is_there():
                return True
            if tell.is_due() and (seconds := time.monotonic() - began) > _LONG_WAIT_SECONDS:
                flow.lane_troubled(f"waiting for {what}, for {seconds:.0f} s")
        return is_there()

    def _give_up_if_hopeless(self, flow: Driver, error: Exception) -> None:
        if isinstance(error, TakenOver | NewerFormat):
            raise error
        if isinstance(error, OSError) or (isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)):
            raise EngineFailed(f"Spark's JVM has ended; its log is in {self._folder}") from error
        try:
            flow.confirm_owner()
            return
        except NewerFormat:  # it would be the same at every attempt
            raise
        except ClusterError as doubt:
            log.debug("%s: whose it is cannot be told: %s", flow.name, doubt)
        if flow.was_taken_over:
            raise TakenOver(f"flow {flow.name} now belongs to another mirror; this one stops")

    def _start_query(self, flow: Driver, spark: SparkSession, folder: str) -> StreamingQuery:
        rows = self._rows(flow, spark)
        # Reading the rows is what runs the lanes. What they say has reached the driver by then, over the control line.
        query = rows.writeStream.queryName(flow.name).option("checkpointLocation", folder).format("noop")
        # Each start brings up Python processes, which must call back within seconds: not all flows at the same time.
        is_our_turn = self._await(flow, lambda: self._starting.acquire(timeout=_LOOK_INTERVAL), "other flows to start")
        try:
            started = query.start()
            self._await_lanes(flow, started)
        finally:
            if is_our_turn:
                self._starting.release()
        return started

    @contextmanager
    def _checkpoint_of(self, flow: Driver, spark: SparkSession) -> Iterator[str]:
        """A new folder as long as a query runs; where tasks have state, one that all machines of a cluster share."""
        shared = self._spark_settings.get("spark.sql.streaming.checkpointLocation")
        if shared and isinstance(flow, DetectionDriver):
            folders = StateFolders(shared, flow.settings)
            with _told(f"{flow.name}: the state of former queries cannot be deleted"):
                folders.remove_all(spark)
            folder = folders.new()
        else:
            folder = Path(tempfile.mkdtemp(prefix="epochs-", dir=self._folder)).as_uri()
        try:
            yield folder
        finally:
            with _told(f"{flow.name}: its state cannot be deleted"):
                remove(spark, folder)

    def _rows(self, flow: Driver, spark: SparkSession) -> DataFrame:
        format_name = self._formats[flow.name]
        if isinstance(flow, DetectionDriver):
            return detection_rows(spark, flow, self._control.address, f"{format_name}_records")
        if isinstance(flow, TableFlowDriver) and flow.rules is not None:
            return flow_rows(spark, flow.name, self._control.address, f"{format_name}_rows", flow.rules.sql)
        return spark.readStream.format(format_name).option("flow", flow.name).load()

    def _await_lanes(self, flow: Driver, query: StreamingQuery) -> None:
        deadline = time.monotonic() + _LONG_ENOUGH
        while query.isActive and flow.is_active and not self._stopping.is_set() and time.monotonic() < deadline:
            if flow.has_lanes.wait(_LOOK_INTERVAL):
                return

    def _follow(self, flow: Driver, query: StreamingQuery) -> None:
        refresh, reconsider = Due(flow.settings.refresh_seconds), Due(_RECONSIDER_SECONDS)
        look_again = Due(_LOOK_AGAIN_SECONDS)
        tell = Due(_TELL_SECONDS)
        try:
            while query.isActive and not flow.is_drained and not flow.wants_new_query:
                time.sleep(_LOOK_INTERVAL)
                if self._stopping.is_set():
                    continue
                if flow.was_taken_over:  # which an idle lane would not notice
                    raise TakenOver(f"flow {flow.name} now belongs to another mirror; this one stops")
                if flow.too_new:
                    raise NewerFormat(flow.too_new)
                if flow.lost_lane:
                    raise LaneLost(flow.lost_lane)
                if tell.is_due() and (wait := flow.waits_long_for()):
                    flow.lane_troubled(wait)
                if flow.is_renewed:
                    refresh = Due(flow.settings.refresh_seconds)
                is_due = flow.is_renewed or refresh.is_due() or (flow.has_set_aside and look_again.is_due())
                is_changed = is_due and flow.refresh()
                if is_changed or (reconsider.is_due() and flow.wants_new_plan()):
                    self._control.end_epoch(flow.name)
            failure = query.exception()
            if failure is not None:
                raise failure
        finally:
            with suppress(Py4JError, OSError):
                query.stop()


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Go on if the storage refuses to delete something; without its JVM a mirror ends, and the next one deletes."""
    try:
        yield
    except Py4JJavaError as error:
        log.warning("%s: %s", what, error.java_exception)
    except (Py4JError, OSError):
        pass


def _first_line(error: Exception) -> str:
    """What happened, in one line; of a Spark failure the Python error inside it, which ends a traceback."""
    lines = str(error).partition("JVM stacktrace:")[0].splitlines()
    inner = [line for line in lines if _PYTHON_ERROR.match(line)]
    if inner:
        return inner[-1].removeprefix("heliograph.errors.")
    return next((line.strip() for line in lines if line.strip()), type(error).__name__)
