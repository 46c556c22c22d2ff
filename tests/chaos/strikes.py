"""Kills: which parts of a mirror die, how often, and how soon one after the other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from heliograph.engine.fault_points import POINTS
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PATIENCE_SECONDS, Stage
from tests.waiting import is_gone, wait_until

_ATTEMPTS = 10


@dataclass(frozen=True)
class Strikes:
    """How often each part is killed, how long it is quiet in between at most, and which share comes in haste."""

    worker: int = 0
    jvm: int = 0
    engine: int = 0
    longest_calm: float = 0.0
    hasty: float = 0.0  # the share of kills that are followed by the next one before the mirror has recovered

    def __str__(self) -> str:
        return f"{len(self._parts())} kills ({self.worker} of workers, {self.jvm} of JVMs, {self.engine} of engines)"

    def fall_on(self, mirror: MirrorProcess, chance: random.Random, await_recovery: Callable[[], None]) -> None:
        """Kill in random order at random moments. Each kill is seen to hit, and the mirror recovers by itself."""
        parts = self._parts()
        chance.shuffle(parts)
        for part in parts:
            time.sleep(chance.uniform(0, self.longest_calm))
            kill(lambda part=part: chance.choice(mirror.living(part)))
            if chance.random() >= self.hasty:
                await_recovery()
        await_recovery()

    def _parts(self) -> list[str]:
        return ["worker"] * self.worker + ["jvm"] * self.jvm + ["engine"] * self.engine


def kill(find: Callable[[], psutil.Process]) -> None:
    """Kill a process and see it go; one that ends by itself just then does not count."""
    for _ in range(_ATTEMPTS):
        process = find()
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
        wait_until(lambda process=process: is_gone(process.pid), f"{process} to be gone")
        return
    raise AssertionError("nothing lived long enough to be killed")


def die_at_every_step(stage: Stage, mirror: MirrorProcess, rounds: int) -> None:
    """Let lanes die at each step of a commit, one after the other; each is seen to hit, and the mirror recovers."""
    for point in POINTS * rounds:
        armed = stage.faults / point
        armed.touch()
        if point in ("fenced", "started"):
            kill(mirror.worker)  # a lane passes these points only when it starts
        wait_until(lambda armed=armed: not armed.exists(), f"a lane to die at {point}", PATIENCE_SECONDS)
        stage.await_progress()
