"""The protocol of lanes that write without transactions around their data, as a model: histories with every fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.chaos.forms import LONG, short_and_long
from tests.sequences.brokers import Log
from tests.sequences.lane import Lane
from tests.sequences.rules import Rules
from tests.sequences.world import Process, Violation, World

LANES = ["a", "b"]
PARTITIONS = 2
HOUR = 1.0


class Flow(RuleBasedStateMachine):
    """A flow of two lanes and two partitions, and all that can happen to it."""

    held = Rules()

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.held, PARTITIONS)
        self.lanes: list[tuple[Lane, Process]] = []
        self.closer: Process | None = None

    def _live(self) -> list[tuple[Lane, Process]]:
        return [(lane, process) for lane, process in self.lanes if not process.has_ended]

    def _pick(self, which: int) -> tuple[Lane, Process] | None:
        live = self._live()
        return live[which % len(live)] if live else None

    def _logs(self) -> list[Log]:
        return [self.world.books, *self.world.targets]

    # -- the source --------------------------------------------------------------------------------------

    @rule(partition=st.integers(0, 1), count=st.integers(1, 4), gap=st.integers(0, 2), age=st.sampled_from([0.0, 72.0]))
    def produce(self, partition: int, count: int, gap: int, age: float) -> None:
        self.world.produce(partition, count, gap, age)

    @rule(partition=st.integers(0, 1))
    def compact_the_source(self, partition: int) -> None:
        self.world.compact_source(partition, keep_last=1)

    @rule(partition=st.integers(0, 1), back=st.integers(1, 2))
    def truncate_the_source(self, partition: int, back: int) -> None:
        source = self.world.sources[partition]
        if source.end > back:
            source.truncate(source.end - back)

    # -- lanes -------------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(LANES), partitions=st.sampled_from([[0], [1], [0, 1]]))
    def start(self, name: str, partitions: list[int]) -> None:
        if len(self._live()) < 4:
            lane = Lane(self.world, name, partitions)
            self.lanes.append((lane, self.world.start(name, lane.run())))

    @rule(which=st.integers(0, 3), with_markers=st.booleans())
    def run_until_idle(self, which: int, with_markers: bool = True) -> None:
        picked = self._pick(which)
        if picked is not None:
            lane, process = picked
            self.world.settle(process, lambda: lane.is_idle, with_markers=with_markers)

    @rule(which=st.integers(0, 3), connection=st.integers(0, 5), count=st.integers(1, 3))
    def deliver(self, which: int, connection: int, count: int) -> None:
        processes = self.world.processes
        if processes:
            process = processes[which % len(processes)]
            for _ in range(count):
                if process.connections:
                    process.deliver(process.connections[connection % len(process.connections)])

    @rule(which=st.integers(0, 3), count=st.integers(1, 5))
    def read(self, which: int, count: int) -> None:
        picked = self._pick(which)
        for _ in range(count):
            if picked is None or not picked[1].read():
                return

    @rule(which=st.integers(0, 3), count=st.integers(1, 20), with_markers=st.booleans())
    def go_on(self, which: int, count: int, with_markers: bool = True) -> None:
        picked = self._pick(which)
        if picked is not None:
            self.world.settle(picked[1], lambda: False, rounds=count, with_markers=with_markers)

    @rule(which=st.integers(0, 3))
    def kill(self, which: int) -> None:
        picked = self._pick(which)
        if picked is not None:
            picked[1].kill()

    @rule(which=st.integers(0, 3))
    def disconnect(self, which: int) -> None:
        picked = self._pick(which)
        if picked is not None:
            picked[1].disconnect()

    @rule(
        which=st.integers(0, 3),
        command=st.sampled_from(["flush", "give", "take", "end"]),
        partition=st.integers(0, 1),
        at_once=st.booleans(),
    )
    def tell(self, which: int, command: str, partition: int, at_once: bool = True) -> None:
        picked = self._pick(which)
        if picked is not None:
            picked[0].commands.append((command, partition))
            if at_once:
                self.run_until_idle(which)

    @precondition(lambda self: self.lanes and self.closer is None)
    @rule()
    def close(self) -> None:
        closer = Lane(self.world, "closer", [])
        self.closer = self.world.start("closer", closer.close(LANES))

    @precondition(lambda self: self.closer is not None)
    @rule()
    def go_on_closing(self) -> None:
        assert self.closer is not None
        self.world.settle(self.closer, lambda: False)

    # -- the target --------------------------------------------------------------------------------------

    @rule()
    def write_markers(self) -> None:
        self.world.coordinator.write_markers()

    @rule()
    def replicate(self) -> None:
        for log in self._logs():
            log.replicate()

    @rule(which=st.integers(0, 2))
    def leader_dies(self, which: int) -> None:
        self._logs()[which].is_leaderless = True

    @rule(partition=st.integers(0, 1))
    def other_leader(self, partition: int) -> None:
        self.world.fail_over(partition)

    @rule(partition=st.integers(0, 1), count=st.integers(1, 4))
    def retention(self, partition: int, count: int) -> None:
        log = self.world.targets[partition]
        self.world.delete_before(partition, min(log.start + count, log.high_watermark))

    @rule(partition=st.integers(0, 1))
    def truncate_the_target(self, partition: int) -> None:
        self.world.truncate_target(partition)

    @rule(which=st.integers(0, 2))
    def followers_are_slow(self, which: int) -> None:
        self._logs()[which].is_slow = True

    @rule(hours=st.sampled_from([0.001, 0.01, 0.2, 0.3, 30.0]))
    def time_passes(self, hours: float) -> None:
        self.world.now += hours

    @rule()
    def producers_expire(self) -> None:
        for log in self._logs():
            log.expire(self.world.now)

    @invariant()
    def nothing_breaks(self) -> None:
        for process in self.world.processes:
            if process.failure is not None:
                raise process.failure

    def teardown(self) -> None:
        """Whatever happened: with healthy brokers, new lanes bring everything over."""
        world = self.world
        if self.closer is not None:
            return
        for _, process in self.lanes:
            process.kill()
        lane = Lane(world, "a", [0, 1])
        process = world.start("a", lane.run())
        world.settle(process, lambda: lane.is_idle, rounds=2000)
        for partition, source in enumerate(world.sources):
            told = {record.identity for record in world.mirrored(partition)}
            missing = [record for record in source.records if record.identity not in told]
            if missing and partition not in {number for number, _ in world.events}:
                raise Violation(f"partition {partition} lacks {missing}: {process.failure!r}")


FOUND_BY_CHANCE = ["clean_is_last", "declare_ahead", "keep_sequences", "mark_when_closing", "read_tails"]


def _run(rules: Rules, examples: int, steps: int = 60, phases: Sequence[Phase] = tuple(Phase)) -> None:
    machine = type("FlowWith", (Flow,), {"held": rules})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            phases=phases,
        ),
    )


# -- a history for each rule -------------------------------------------------------------------------------


class Scene(Flow):
    """The same, told step by step."""

    def go(self, lane: int, is_there: Callable[[Lane], bool], with_markers: bool = True) -> None:
        """Let a lane go on to where it is wanted; what it writes to the target from there on is on its way."""
        chosen, process = self.lanes[lane]
        for _ in range(200):
            if is_there(chosen) or process.has_ended:
                return
            self.world.heal(with_markers)
            for connection in process.connections:
                if not (connection.startswith("target") and chosen.in_flight):
                    process.deliver(connection)
            self.world.heal(with_markers)
            process.read()

    def rest(self, lane: int, with_markers: bool = True) -> None:
        """Let a lane go on until it has nothing to do."""
        chosen, process = self.lanes[lane]
        for _ in range(3):  # it looks idle while it waits for a connection that is lost
            self.world.settle(process, lambda: chosen.is_idle, with_markers=with_markers)

    def order(self, lane: int, command: str) -> None:
        """Tell a lane something about partition 0, and let it do that."""
        self.lanes[lane][0].commands.append((command, 0))
        self.rest(lane)

    def arrive(self, lane: int, connection: str = "target-0") -> None:
        """What is on its way arrives."""
        process = self.lanes[lane][1]
        while connection in process.connections:
            process.deliver(connection)

    def begin(self, lane: str = "a") -> int:
        """A new attempt to run a lane on partition 0."""
        self.start(lane, [0])
        return len(self.lanes) - 1

    def is_sent(self, count: int = 1) -> Callable[[Lane], bool]:
        """Whether so many batches are on their way."""
        return lambda lane: lane.in_flight >= count


def _leader_dies_before_the_marker(scene: Scene) -> None:
    scene.produce(0, 2, 0, 0.0)
    old = scene.begin()
    scene.go(old, scene.is_sent())
    new = scene.begin()
    scene.rest(new, with_markers=False)
    scene.arrive(old)
    scene.rest(new)


def _clean_then_killed(scene: Scene) -> None:
    scene.order(scene.begin(), "end")
    scene.produce(0, 1, 0, 0.0)
    scene.rest(scene.begin())
    scene.kill(0)
    scene.rest(scene.begin())


def _compacted_with_an_unflushed_tail(scene: Scene) -> None:
    scene.produce(0, 3, 0, 0.0)
    scene.rest(scene.begin())
    scene.kill(0)
    scene.compact_the_source(0)
    scene.produce(0, 2, 0, 0.0)
    scene.rest(scene.begin())


def _flushes_while_it_is_taken_over(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    old = scene.begin()
    scene.rest(old)
    scene.lanes[old][0].commands.append(("flush", 0))
    scene.go(old, lambda _: "books" in scene.lanes[old][1].connections)
    scene.produce(0, 1, 0, 0.0)
    new = scene.begin()
    scene.rest(new)
    scene.order(new, "end")
    scene.arrive(old, "books")
    scene.rest(scene.begin())


def _given_away_and_taken_back(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    lane = scene.begin()
    scene.rest(lane)
    scene.order(lane, "give")
    scene.order(lane, "take")
    for _ in range(2):
        scene.produce(0, 1, 0, 0.0)
        scene.rest(lane)


def _frozen_for_days(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    old = scene.begin()
    scene.rest(old)
    new = scene.begin()
    scene.rest(new)
    scene.time_passes(30.0)
    scene.producers_expire()
    scene.produce(0, 1, 0, 0.0)
    scene.rest(new)
    scene.rest(old)


def _two_at_once(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    first = scene.begin("a")
    scene.go(first, lambda lane: lane.step == "declare")
    scene.rest(scene.begin("b"))
    scene.rest(first)


def _closed_while_frozen(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    old = scene.begin()
    scene.go(old, scene.is_sent())
    scene.close()
    scene.go_on_closing()
    assert scene.world.is_closed
    scene.arrive(old)


def _acknowledged_but_not_heard(scene: Scene) -> None:
    scene.produce(0, 1, 0, 72.0)
    lane = scene.begin()
    scene.go(lane, scene.is_sent())
    scene.arrive(lane)
    scene.disconnect(0)
    scene.producers_expire()
    scene.rest(lane)


def _refused_and_overtaken(scene: Scene) -> None:
    scene.produce(0, 1, 0, 72.0)
    lane = scene.begin()
    scene.rest(lane)
    scene.produce(0, 4, 0, 72.0)
    scene.go(lane, scene.is_sent(2))
    scene.leader_dies(1)
    scene.lanes[lane][1].deliver("target-0")
    scene.producers_expire()
    scene.world.heal()
    scene.arrive(lane)
    scene.rest(lane)


def _killed_before_a_flush(scene: Scene) -> None:
    scene.produce(0, 1, 0, 0.0)
    scene.rest(scene.begin())
    scene.kill(0)
    scene.rest(scene.begin())


def _old_records_after_sessions(scene: Scene, sessions: int) -> None:
    """Brokers forget by the age of records that the last one writes what the fence before it has taught them."""
    scene.produce(0, 1, 0, 72.0)
    old = scene.begin()
    scene.go(old, scene.is_sent())
    for _ in range(sessions):
        scene.rest(scene.begin())
        scene.produce(0, 1, 0, 72.0)
    scene.rest(scene.begin())
    scene.producers_expire()
    scene.arrive(old)


HISTORIES: dict[str, Callable[[Scene], None]] = {
    "await_markers": _leader_dies_before_the_marker,
    "clean_is_last": _clean_then_killed,
    "declare_ahead": _compacted_with_an_unflushed_tail,
    "fence_books": _flushes_while_it_is_taken_over,
    "keep_sequences": _given_away_and_taken_back,
    "lease": _frozen_for_days,
    "look_back": _two_at_once,
    "mark_when_closing": _closed_while_frozen,
    "new_epoch_after_doubt": _acknowledged_but_not_heard,
    "one_by_one_when_old": _refused_and_overtaken,
    "read_tails": _killed_before_a_flush,
    "rest_before_reuse": partial(_old_records_after_sessions, sessions=2),
    "rotate_ids": partial(_old_records_after_sessions, sessions=0),
}


def _tell(history: Callable[[Scene], None], held: Rules) -> None:
    scene = type("SceneWith", (Scene,), {"held": held})()
    history(scene)
    scene.nothing_breaks()
    scene.teardown()


def test_every_rule_has_its_history() -> None:
    assert HISTORIES.keys() == Rules.__dataclass_fields__.keys()


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_that_breaks_the_protocol_without_its_rule_breaks_nothing_with_it(name: str) -> None:
    with pytest.raises(Violation):
        _tell(HISTORIES[name], Rules(**{name: False}))
    _tell(HISTORIES[name], Rules())


# -- chance ------------------------------------------------------------------------------------------------


@short_and_long("histories", 300, 20_000)
def test_no_history_breaks_the_protocol(histories: int) -> None:
    _run(Rules(), histories)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "read_tails" else LONG) for name in FOUND_BY_CHANCE]
)
def test_chance_finds_what_goes_wrong_without_a_rule(name: str) -> None:
    with pytest.raises(Violation):
        _run(Rules(**{name: False}), 20_000, phases=[Phase.generate])
