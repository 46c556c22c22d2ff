"""The line between the driver and its lanes: plans go out, progress comes back, and an epoch can be ended early.

Spark plans and runs a source in processes of its own, so the driver cannot be called there. It listens instead, on an
address that travels with the pickled source class, guarded by a random key. Everything here is light to import: several
of those processes start before the first record flows.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from typing import Any, Protocol

from heliograph.engine.lane_line import ASK, DONE, END, EXIT, LANE, READER, Stack
from heliograph.engine.pulse import Pulse
from heliograph.engine.watchdog import OVERSLEPT_SECONDS, LaneWatch, Step
from heliograph.engine.wire import ControlAddress, answer_to, call, hang_up, listen_long, still_at_it, take_call
from heliograph.errors import DriverGone

log = logging.getLogger(__name__)

_CALLS_AT_ONCE = 1024
_NOTES = 4096  # those of attempts that died before they took theirs are dropped, the oldest first
_WATCH_INTERVAL = 1.0
_PAUSE_SECONDS = 0.1
_OURS = re.compile(r'/(heliograph/(?:\w+/)*\w+\.py)"(.*)')


class FlowControl(Protocol):
    """What the driver of a flow answers to the processes that Spark runs for it."""

    @property
    def deal(self) -> int:
        """The number of the newest deal, be it one that is being made; no two deals of a process share one."""

    def next_epoch(self, finished: int) -> int:
        """The epoch to run after the finished one; the same one again when there is nothing to do."""

    def lane_tasks(self, epoch: int) -> Sequence[bytes]:
        """The lanes of an epoch, packed."""

    def lane_began(self, deal: int) -> None:
        """A lane of that deal has started, be it for the second time."""

    def lane_done(self, deal: int) -> None:
        """A lane of that deal has committed all that it had written, and writes no more."""

    def lane_progressed(self, report: Any) -> None:
        """A lane has committed a transaction, and reports what its driver expects of it."""

    def lane_troubled(self, trouble: str) -> None:
        """A lane cannot go on for the moment, and tries again."""

    def lane_pulsed(self, deal: int, pulse: Pulse) -> None:
        """A lane of that deal lives, and says what it does."""

    def lane_hangs(self, lane: int, trouble: str, stack: str) -> None:
        """A lane says nothing any more, so its process is ended; where it hung, if it could tell."""

    def lane_lost(self, lane: int, trouble: str) -> None:
        """Such a lane does not even end: only a new take-over can get its partitions back."""


@dataclass(eq=False)
class _Lane:
    """One lane that has called."""

    flow: str
    deal: int
    connection: Connection
    process: int  # its number, on the machine where it runs
    watch: LaneWatch = field(default_factory=LaneWatch)

    def tell(self, word: str) -> None:
        """Say a word; one that cannot take it has ended, or does so when it is told to go."""
        with suppress(OSError):
            self.connection.send(word)


class ControlServer:
    """The driver's end: answers planners and follows lanes, one thread for each connection; watches over the lanes."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        bound_to: str = "",
        has_lanes_here: bool = False,
        watch_interval: float = _WATCH_INTERVAL,
    ) -> None:
        """Lanes call `host`; what we bind to may have another name. `has_lanes_here`: lanes run on this machine."""
        self._has_lanes_here = has_lanes_here
        key = secrets.token_bytes(32)
        # A short queue would drop calls when many lanes start at once, and a dropped one waits for ever.
        self._listener = Listener((bound_to or host, 0), backlog=_CALLS_AT_ONCE)
        address = self._listener.address
        assert isinstance(address, tuple)
        self.address = ControlAddress(host, int(address[1]), key)
        self._flows: dict[str, FlowControl] = {}
        self._lanes: set[_Lane] = set()
        self._ended: dict[str, int] = {}  # the newest deal of each flow that is over
        self._given_up: dict[str, int] = {}  # the newest deal of each flow that a new take-over locks out
        self._notes: dict[str, bytes] = {}
        self._closing = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="control", daemon=True).start()
        threading.Thread(target=self._watch, args=(watch_interval,), name="watchdog", daemon=True).start()

    def add_flow(self, name: str, flow: FlowControl) -> None:
        """Answer for a flow from now on."""
        self._flows[name] = flow

    def end_epoch(self, flow: str) -> None:
        """Ask all lanes of the flow's current epoch to commit and end, also those that have yet to call."""
        with self._lock:
            self._ended[flow] = self._flows[flow].deal
            for lane in self._lanes:
                if lane.flow == flow:
                    lane.tell(END)

    def close(self) -> None:
        """Stop listening; lanes notice and end."""
        self._closing.set()
        self._listener.close()
        with self._lock:
            for lane in self._lanes:
                hang_up(lane.connection)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:  # it is gone already, or there are too many open files for the moment
                if self._closing.wait(_PAUSE_SECONDS):
                    return
                continue
            # Who calls is found out there: a stranger that says nothing must not keep others waiting.
            threading.Thread(target=self._serve, args=(connection,), name="control-line", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with suppress(EOFError, OSError), connection:
            if not take_call(connection, self.address.key):
                return
            question, flow_name, argument = connection.recv()
            listen_long(connection)
            if question == "note":
                connection.send(self._noted(*argument))
                return
            flow = self._flows[flow_name]
            if question in (LANE, READER):
                deal, process = argument
                self._follow(_Lane(flow_name, deal, connection, process), flow, counts=question == LANE)
                return
            with still_at_it(connection):
                answer = flow.next_epoch(argument) if question == "epoch" else _answer(flow, argument)
            connection.send(answer)

    def _noted(self, name: str, content: bytes | None) -> bytes | None:
        """Keep what one process leaves for another; or hand it over, if nothing is left."""
        with self._lock:
            if content is None:
                return self._notes.pop(name, None)
            self._notes[name] = content
            while len(self._notes) > _NOTES:
                del self._notes[next(iter(self._notes))]
            return None

    def _follow(self, lane: _Lane, flow: FlowControl, counts: bool) -> None:
        with self._lock:
            if self._closing.is_set():  # it had called, but was not known yet
                return
            self._lanes.add(lane)
            if lane.deal <= self._ended.get(lane.flow, 0):
                lane.tell(END)
        if counts:
            flow.lane_began(lane.deal)
        try:
            while True:
                message = lane.connection.recv()
                with self._served(lane, message):
                    self._hear(lane, flow, message)
        finally:
            with self._lock:
                self._lanes.discard(lane)

    @contextmanager
    def _served(self, lane: _Lane, message: object) -> Iterator[None]:
        """A lane is not to blame for what we do not hear while we deal with what it has said."""
        if isinstance(message, Stack):  # of a thread that says nothing about the lane's own
            yield
            return
        pulse = message if isinstance(message, Pulse) else None
        if lane.watch.is_suspect and not lane.watch.is_told_to_end:
            log.info("%s: lane %d goes on", lane.flow, pulse.lane if pulse else -1)
        lane.watch.heard(time.monotonic(), pulse)
        lane.watch.serving(True, time.monotonic())
        try:
            yield
        finally:
            lane.watch.serving(False, time.monotonic())

    def _hear(self, lane: _Lane, flow: FlowControl, message: object) -> None:
        if isinstance(message, Pulse):
            flow.lane_pulsed(lane.deal, message)
        elif isinstance(message, Stack):
            lane.watch.stack = message.text
        elif message == DONE:
            flow.lane_done(lane.deal)
            lane.connection.send(DONE)
        elif isinstance(message, str):
            flow.lane_troubled(message)
        else:
            flow.lane_progressed(message)

    # -- lanes that say nothing -----------------------------------------------------------------------------------

    def _watch(self, interval: float) -> None:
        looked_at = time.monotonic()
        while not self._closing.wait(interval):
            now = time.monotonic()
            overslept = now - looked_at - interval
            looked_at = now
            with self._lock:
                lanes = list(self._lanes)
            for lane in lanes:
                if overslept > OVERSLEPT_SECONDS:
                    lane.watch.overslept(overslept)
                try:
                    self._look_after(lane, now)
                except Exception:  # whatever is wrong with one lane, the others are watched on
                    log.exception("%s: a lane cannot be looked after", lane.flow)

    def _look_after(self, lane: _Lane, now: float) -> None:
        step, pulse = lane.watch.next_step(now), lane.watch.pulse
        if step is None or pulse is None:
            return
        silence = f"lane {pulse.lane} has said nothing for {lane.watch.silent_for(now):.0f} s"
        flow = self._flows[lane.flow]
        if step is Step.ASK:
            lane.tell(ASK)
        elif step is Step.END:
            lane.tell(EXIT)
            if self._has_lanes_here:  # also one that is frozen, and hears nothing
                _kill(lane)
            flow.lane_hangs(pulse.lane, f"{silence}; {_where(lane.watch.stack, pulse.doing)}", lane.watch.stack)
        else:
            hang_up(lane.connection)  # should it wake up, it finds that nobody listens
            if lane.deal <= self._given_up.get(lane.flow, -1):
                return  # another one was lost before, so all lanes of its time are locked out already
            self._given_up[lane.flow] = flow.deal
            flow.lane_lost(pulse.lane, f"{silence}, and cannot be ended: it is frozen, or out of reach")


def _kill(lane: _Lane) -> None:
    """End a process; one that we may not or cannot end is given up a little later."""
    try:
        os.kill(lane.process, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except (OSError, OverflowError) as error:
        log.error("%s: the process %d of a lane that hangs cannot be killed: %s", lane.flow, lane.process, error)


def _where(stack: str, doing: str) -> str:
    """Where a lane hangs, in a few words: the innermost place in our own code, if there is one."""
    places = [line.strip() for line in stack.splitlines() if line.lstrip().startswith("File ")]
    ours = [f"{found[1]}{found[2]}" for place in places if (found := _OURS.search(place))]
    place = (ours or places or ["an unknown place, as it does not answer"])[-1]
    return f"it hangs at {place}; before, it was {doing}"


def _answer(flow: FlowControl, epoch: int) -> Sequence[bytes] | Exception:
    try:
        return flow.lane_tasks(epoch)
    except Exception as error:  # crosses a process border: the other side raises it
        return error


def ask_epoch(address: ControlAddress, flow: str, finished: int) -> int:
    """The epoch to run after the finished one."""
    with call(address) as connection:
        connection.send(("epoch", flow, finished))
        return int(answer_to(connection))


def ask_tasks(address: ControlAddress, flow: str, epoch: int) -> Sequence[bytes]:
    """The lanes of an epoch, packed."""
    with call(address) as connection:
        connection.send(("tasks", flow, epoch))
        answer = answer_to(connection)
    if isinstance(answer, Exception):
        raise answer
    tasks: Sequence[bytes] = answer
    return tasks


def leave_note(address: ControlAddress, name: str, content: bytes) -> None:
    """Leave something with the driver for another process; it is there when this returns."""
    with call(address) as connection:
        connection.send(("note", "", (name, content)))
        answer_to(connection)


def take_note(address: ControlAddress, name: str) -> bytes:
    """What another process has left under this name; it is gone then."""
    with call(address) as connection:
        connection.send(("note", "", (name, None)))
        content: bytes | None = answer_to(connection)
    if content is None:
        raise DriverGone(f"nobody has left a note named {name}")
    return content
