"""Kills: which parts of a mirror die, how often, and how soon one after the other."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, cast

import psutil

from heliograph.engine.fault_points import POINTS
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PATIENCE_SECONDS, Stage
from tests.waiting import is_gone, wait_until

_ATTEMPTS = 10


class Struck(Protocol):
    """Whoever keeps a mirror running, as the machine's own service manager would."""

    mirror: MirrorProcess

    def start_again(self) -> None:
        """Put a new mirror in the place of one that was killed as a whole."""

    def await_recovery(self) -> None:
        """Return when all partitions are mirrored again; fail when that takes too long."""


class StruckWithBrokers(Struck, Protocol):
    """The same for a mirror whose brokers are killed too."""

    def restart_broker(self, side: str) -> None:
        """Kill a broker of the source or of the target, and bring it back at once."""


@dataclass
class Toll:
    """What was killed so far, and how long the slowest recovery took."""

    kills: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0


@dataclass(frozen=True)
class Strikes:
    """How often each part is killed, how long it is quiet in between at most, and which share comes in haste."""

    worker: int = 0
    jvm: int = 0
    engine: int = 0
    whole: int = 0  # every process of the mirror at the same time
    source_broker: int = 0
    target_broker: int = 0
    longest_calm: float = 0.0
    hasty: float = 0.0  # the share of kills that are followed by the next one before the mirror has recovered

    @classmethod
    def many(cls, kills: int) -> Strikes:
        """So many kills, most of them of workers, which are back within a second or two."""
        rare = max(1, kills // 50)
        others = {"jvm": rare, "engine": rare, "whole": rare, "source_broker": rare, "target_broker": rare}
        return cls(worker=kills - sum(others.values()), **others, longest_calm=0.4, hasty=0.2)

    def __str__(self) -> str:
        counts = ", ".join(f"{part} {count}" for part, count in self._counts().items() if count)
        return f"{len(self._parts())} kills ({counts})"

    def fall_on(self, struck: Struck, chance: random.Random, toll: Toll | None = None) -> float:
        """Kill in random order at random moments. Each kill is seen to hit, and the mirror recovers by itself.

        Returns the seconds that the slowest recovery took.
        """
        toll = toll or Toll()
        parts = self._parts()
        chance.shuffle(parts)
        for part in parts:
            time.sleep(chance.uniform(0, self.longest_calm))
            self._strike(struck, part, chance)
            toll.kills[part] += 1
            if chance.random() >= self.hasty:
                toll.slowest = max(toll.slowest, _seconds_of(struck.await_recovery))
        toll.slowest = max(toll.slowest, _seconds_of(struck.await_recovery))
        return toll.slowest

    def _strike(self, struck: Struck, part: str, chance: random.Random) -> None:
        if part == "whole":
            struck.mirror.kill()
            struck.start_again()
        elif part.endswith("_broker"):
            cast("StruckWithBrokers", struck).restart_broker(part.removesuffix("_broker"))
        else:
            kill(lambda: chance.choice(struck.mirror.living(part)))

    def _parts(self) -> list[str]:
        return [part for part, count in self._counts().items() for _ in range(count)]

    def _counts(self) -> dict[str, int]:
        names = ("worker", "jvm", "engine", "whole", "source_broker", "target_broker")
        return {name: getattr(self, name) for name in names}


def _seconds_of(action: Callable[[], None]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


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
        stage.await_recovery()
