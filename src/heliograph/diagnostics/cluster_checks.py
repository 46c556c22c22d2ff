"""Whether a file can be used and its clusters be reached, and whether their clocks agree with ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heliograph.config.cluster import ClusterConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.problem import Problem, Severity
from heliograph.diagnostics.observation import Observation, Verdict
from heliograph.errors import ClusterError, ConfigError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin

_VERDICTS = {Severity.ERROR: Verdict.FAILED, Severity.WARNING: Verdict.WARNING}
_CLOCK_TOLERANCE_MS = 1000


@dataclass(frozen=True)
class ClockOffset:
    """How far a cluster's clock is ahead of ours, and how wrong that can be: the answer travelled so long."""

    ahead_ms: float
    uncertainty_ms: float

    @property
    def is_tolerable(self) -> bool:
        """Whether it may be none at all, or is too small to matter."""
        return abs(self.ahead_ms) - self.uncertainty_ms <= _CLOCK_TOLERANCE_MS

    def __str__(self) -> str:
        side = "ahead of" if self.ahead_ms > 0 else "behind"
        return f"{abs(self.ahead_ms):.0f} ms {side} this machine (± {self.uncertainty_ms:.0f} ms)"


def read_file(file: Path) -> tuple[MirrorConfig | None, tuple[Observation, ...]]:
    """The configuration, if it can be used, and what there is to say about it."""
    try:
        config = load(file)
    except ConfigError as error:
        return None, tuple(_told(problem) for problem in error.problems)
    told = tuple(_told(problem) for problem in config.problems if problem.severity in _VERDICTS)
    flows = ", ".join(flow.name for flow in config.flows)
    return config, (Observation("file", Verdict.OK, f"{config.file}: {flows}"), *told)


def check_cluster(cluster: ClusterConfig) -> Iterator[Observation]:
    """What a cluster tells about itself, and about the time."""
    subject = f"cluster {cluster.alias}"
    try:
        with Admin(access_for(cluster, "admin")) as admin:
            versions, brokers = ", ".join(admin.versions()), admin.broker_count()
            yield Observation(subject, Verdict.OK, f"{admin.cluster_id()}: Kafka {versions}, brokers: {brokers}")
            yield _clock(cluster.alias, measured_offset(admin.controller_time_ms))
    except ClusterError as error:
        advice = f"look at {cluster.alias}.bootstrap.servers, the network in between, and the login"
        yield Observation(subject, Verdict.FAILED, str(error), advice)


def measured_offset(ask: Callable[[], int | None], now: Callable[[], float] = time.time) -> ClockOffset | None:
    """How far a clock is ahead that one can ask; the answer is taken to be of the middle of the time it took."""
    began = now() * 1000
    answer = ask()
    ended = now() * 1000
    return None if answer is None else ClockOffset(answer - (began + ended) / 2, (ended - began) / 2)


def _clock(alias: str, offset: ClockOffset | None) -> Observation:
    subject = f"clock of {alias}"
    if offset is None:
        return Observation(subject, Verdict.UNKNOWN, "it does not tell the time: no KRaft, or no right to ask")
    if offset.is_tolerable:
        return Observation(subject, Verdict.OK, str(offset))
    return Observation(subject, Verdict.WARNING, str(offset), "let NTP set both clocks: lag in seconds would be wrong")


def _told(problem: Problem) -> Observation:
    place = f"line {problem.line}: " if problem.line else ""
    seen = f"{place}{problem.key} {problem.message}".strip()
    return Observation("file", _VERDICTS[problem.severity], seen, problem.hint)
