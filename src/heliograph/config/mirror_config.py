"""A whole mm2.properties file, read, checked and ready to use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.config import options, properties
from heliograph.config.option import Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.reading import Reading
from heliograph.config.secret import redact
from heliograph.config.setting import Setting, revealed_text, typed, untyped
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.config.option import Value
    from heliograph.config.secret import Secret
    from heliograph.config.setting import ResolvedFile

_TOP_SCOPES = (Scope.DRIVER, Scope.REST)


@dataclass(frozen=True)
class MirrorConfig:
    """Clusters, flows and everything else that a file says; problems holds warnings and notes."""

    file: str
    clusters: Mapping[str, ClusterConfig]
    flows: tuple[FlowConfig, ...]
    settings: Mapping[str, Setting]
    spark: Mapping[str, str] = field(repr=False)
    problems: tuple[Problem, ...]
    others: tuple[FlowConfig, ...] = ()  # flows back from the targets that were chosen: other processes run them

    def flow(self, name: str) -> FlowConfig | None:
        """The flow of that name, `A->B`."""
        return next((flow for flow in self.flows if flow.name == name), None)

    def opposite_of(self, flow: FlowConfig) -> FlowConfig | None:
        """The flow back, if records are mirrored that way too, be it by another process."""
        name = f"{flow.target.alias}->{flow.source.alias}"
        return next((item for item in (*self.flows, *self.others) if item.name == name and item.enabled), None)

    def names_first(self, one: ClusterConfig, other: ClusterConfig) -> bool:
        """Whether `clusters` names one cluster before the other."""
        aliases = list(self.clusters)
        return aliases.index(one.alias) < aliases.index(other.alias)

    def get(self, name: str) -> Value:
        """The value of a key that stands alone at the top, such as `listeners`."""
        return self.settings[name].value


def load(
    path: str | Path, environment: Mapping[str, str] | None = None, clusters: Sequence[str] | None = None
) -> MirrorConfig:
    """Read a file; `clusters` keeps only flows to these targets. Raises ConfigError with all problems."""
    file = properties.read(Path(path))
    reading = Reading(file, os.environ if environment is None else environment, clusters)
    problems = _in_order(_without(reading.secrets, problem) for problem in list(reading.read()))
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise ConfigError([problem for problem in problems if problem.severity is not Severity.NOTE])
    settings = _top_settings(reading.source)
    spark = {name: revealed_text(s.value) for name, s in settings.items() if name.startswith("spark.")}
    return MirrorConfig(
        file.file, reading.clusters, tuple(reading.flows), settings, spark, problems, tuple(reading.others)
    )


def _without(secrets: Sequence[Secret], problem: Problem) -> Problem:
    """The problem with every secret hidden: a second line, should a message ever repeat a value."""
    return replace(problem, message=redact(problem.message, secrets), hint=redact(problem.hint, secrets))


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0))


def _top_settings(source: ResolvedFile) -> dict[str, Setting]:
    entries = source.entries
    table = options.in_scopes(_TOP_SCOPES)
    settings = {name: typed(option, entries.get(name), source) for name, option in table.items()}
    return settings | {
        name: untyped(name, entry, source)
        for name, entry in entries.items()
        if name not in table and options.find_family(name, _TOP_SCOPES)
    }
