"""All flows of this process while they run, and what can be told to them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.config.overrides import Changes, refusal
from heliograph.config.problem import Problem, Severity
from heliograph.control.connector import Connector, RunState
from heliograph.control.running_conflicts import RunningConflicts
from heliograph.control.running_flow import RunningFlow
from heliograph.control.stored_state import StateStore
from heliograph.engine.flow import FlowDriver
from heliograph.engine.mirror import Mirror
from heliograph.errors import ConfigError, HeliographError
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.translation import Ledgers

log = logging.getLogger(__name__)

_CHORES_SECONDS = 2.0


class RunningMirror:
    """The flows of a configuration: started, stopped, paused, changed."""

    def __init__(self, config: MirrorConfig) -> None:
        """Make all flows; connects to nothing yet."""
        _check_progress_groups(config)
        self.config = config
        self.started_at_ms = int(time.time() * 1000)
        ledgers = Ledgers(of_mirror=True)
        self.flows = {flow.name: RunningFlow(config, flow, ledgers) for flow in config.flows}
        self.conflicts = {item.cluster.alias: RunningConflicts(item, self.flows.values) for item in config.conflicts}
        self._mirror: Mirror | None = None
        self._changes: dict[str, Changes] = {}
        self._adopted: set[str] = set()
        self._lock = threading.RLock()  # one change at a time
        for flow in self.flows.values():
            if flow.driver is not None:
                flow.driver.on_announced = partial(self._adopt, flow)
                flow.follow_orders = partial(self._follow_orders, flow)

    def flow(self, name: str) -> RunningFlow:
        """The flow of that name, `A->B`."""
        return self.flows[name]

    def drivers(self) -> list[FlowDriver]:
        """The drivers of all flows that mirror records."""
        return [flow.driver for flow in self.flows.values() if flow.driver is not None]

    # -- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start Spark and all flows; a file whose flows are all off needs no Spark."""
        if drivers := self.drivers():
            detectors = [conflicts.driver for conflicts in self.conflicts.values()]
            self._mirror = Mirror([*drivers, *detectors], self.config.spark)
            for flow in self.flows.values():
                flow.has_ended = partial(self._has_ended, flow)
            self._mirror.start()
        for flow in self.flows.values():
            flow.start_chores()

    @property
    def is_running(self) -> bool:
        """Whether anything is still at work or will try again."""
        return self._mirror is None or self._mirror.is_running

    @property
    def is_ready(self) -> bool:
        """Whether every flow is ours."""
        return all(driver.in_charge.is_set() for driver in self.drivers())

    def stop(self) -> None:
        """Let lanes commit, then chores end; raises if lanes did not end in time, or a failure had ended them."""
        patience = max(flow.config.number("task.shutdown.graceful.timeout.ms") for flow in self.flows.values()) / 1000
        is_drained = self._mirror is None or self._mirror.stop(patience)
        for flow in self.flows.values():
            flow.begin_stop()
        for flow in self.flows.values():
            flow.stop_chores(_CHORES_SECONDS)
        if not is_drained:
            text = f"lanes did not end within {patience:.0f} s; what they had not committed will be copied next time"
            raise HeliographError(text)
        if self._mirror is not None and self._mirror.failure is not None:
            raise self._mirror.failure

    def _has_ended(self, flow: RunningFlow) -> bool:
        return bool(self._mirror and flow.driver and not self._mirror.is_alive(flow.driver))

    # -- what can be told to it -----------------------------------------------------------------------------------

    def change_state(self, flow: RunningFlow, connector: Connector, state: RunState) -> None:
        """Pause, stop or resume a part of a flow, now and after a restart. Raises ClusterError if it cannot be kept."""
        with self._lock:
            StateStore(flow.config).write_state(connector, state)
            self._apply_state(flow, connector, state)

    def _apply_state(self, flow: RunningFlow, connector: Connector, state: RunState) -> None:
        flow.states[connector] = state
        if connector is Connector.SOURCE and flow.driver is not None:
            if state is RunState.RUNNING:
                flow.driver.resume()
            elif self._mirror is not None:
                self._mirror.pause(flow.driver)
            else:
                flow.driver.pause()

    def restart(self, flow: RunningFlow, connector: Connector) -> None:
        """Let a part of a flow begin from scratch."""
        with self._lock:
            if connector is Connector.SOURCE and flow.driver is not None and self._mirror is not None:
                self._mirror.restart(flow.driver)
            else:
                flow.renew_chores(self.config)

    def changes(self, flow: RunningFlow) -> Changes:
        """The settings of a flow that differ from the file."""
        return self._changes.get(flow.name, {})

    def checked(self, flow: RunningFlow, changes: Changes) -> MirrorConfig:
        """The configuration with these changes of a flow instead of earlier ones; raises ConfigError with all faults.

        Only what was not changed before is looked at: what is written down was allowed once.
        """
        before = self.changes(flow)
        new = {name: value for name, value in changes.items() if name not in before or before[name] != value}
        problems = [_refused(flow, name, why) for name, value in new.items() if (why := refusal(name, value))]
        if problems:
            raise ConfigError(problems)
        config = self.config.with_changes({**self._changes, flow.name: changes})
        _check_progress_groups(config)
        self._check_slots(flow, config)
        return config

    def change_settings(self, flow: RunningFlow, changes: Changes, by: str) -> None:
        """Let a flow go on with these changes instead of earlier ones, now and after a restart."""
        with self._lock:
            config = self.checked(flow, changes)
            StateStore(flow.config).write_changes(changes, by)
            self._apply_changes(flow, changes, config)

    def _apply_changes(self, flow: RunningFlow, changes: Changes, config: MirrorConfig) -> None:
        self.config = config
        self._changes[flow.name] = changes
        flow.renew(config)
        for other in self.flows.values():  # what they leave out depends on what this one takes
            if other is not flow and other.config.keeps_names and flow.config.keeps_names:
                other.renew(config)

    def _check_slots(self, flow: RunningFlow, config: MirrorConfig) -> None:
        wanted = sum(item.number("tasks.max") for item in config.flows if item.enabled)
        if self._mirror is not None and wanted > self._mirror.slots:
            others = sum(item.number("tasks.max") for item in config.flows if item.enabled and item.name != flow.name)
            room = self._mirror.slots - others
            why = f"Spark was started with room for {room} lanes of this flow: change the file and restart"
            raise ConfigError([_refused(flow, "tasks.max", why)])

    def _adopt(self, flow: RunningFlow) -> None:
        """While a flow is taken over: do as an earlier process was told, or as an operation wants."""
        stored = StateStore(flow.config).read()
        with self._lock:
            if stored.changes and flow.name not in self._adopted:
                try:
                    self._apply_changes(flow, stored.changes, self.checked(flow, stored.changes))
                    log.warning(
                        "%s: settings changed over REST win over the file: %s", flow.name, _told(stored.changes)
                    )
                except ConfigError as error:
                    log.error(
                        "%s: settings changed over REST no longer fit the file, and are left: %s", flow.name, error
                    )
            self._apply_states(flow, stored.states)
            self._adopted.add(flow.name)

    def _follow_orders(self, flow: RunningFlow) -> str:
        """Do what was written down by others meanwhile: operations stop flows and let them go on."""
        with self._lock:
            if flow.name in self._adopted:
                self._apply_states(flow, StateStore(flow.config).read().states)
        return ", ".join(sorted({state.value.lower() for state in flow.states.values()}))

    def _apply_states(self, flow: RunningFlow, states: Mapping[Connector, RunState]) -> None:
        for connector, state in states.items():
            if connector in flow.states and state is not flow.states[connector]:
                log.warning("%s: %s is %s, as it was told to be", flow.name, connector.value, state.value)
                self._apply_state(flow, connector, state)


def _told(changes: Changes) -> str:
    return ", ".join(f"{name} = {'(default)' if value is None else value}" for name, value in changes.items())


def _refused(flow: RunningFlow, name: str, why: str) -> Problem:
    return Problem(Severity.ERROR, why, key=f"{flow.name}.{name}")


def _check_progress_groups(config: MirrorConfig) -> None:
    problems = list(_shared_progress_groups(config, [flow for flow in config.flows if flow.enabled]))
    if problems:
        raise ConfigError(problems)


def _shared_progress_groups(config: MirrorConfig, flows: Sequence[FlowConfig]) -> Iterator[Problem]:
    taken: dict[tuple[str, str], str] = {}
    for flow in flows:
        group = progress_group_id(flow)
        owner = taken.setdefault((flow.source.alias, group), flow.name)
        if group and owner != flow.name:
            message = f"{owner} and {flow.name} would both commit for the group {group} on {flow.source.alias}"
            hint = f"write {flow.name}.progress.group.id = another name"
            yield Problem(Severity.ERROR, message, hint, config.file)
