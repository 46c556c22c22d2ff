"""A whole mm2.properties file, read, checked and ready to use."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from heliograph.config import options
from heliograph.config.conflict_reading import ConflictReader
from heliograph.config.environment import read_with_variables
from heliograph.config.hook_reading import HookReader
from heliograph.config.option import Scope
from heliograph.config.overrides import revised
from heliograph.config.problem import Problem, Severity
from heliograph.config.reading import Reading
from heliograph.config.rest_check import check_rest
from heliograph.config.secret import redact
from heliograph.config.setting import Setting, revealed_text, typed, untyped
from heliograph.config.spark_check import check_spark
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.conflict_config import ConflictConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.config.hook import Hook
    from heliograph.config.option import Value
    from heliograph.config.overrides import Changes
    from heliograph.config.properties import PropertiesFile
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
    hooks: Sequence[Hook] = ()
    conflicts: tuple[ConflictConfig, ...] = ()
    _origin: _Origin | None = field(default=None, repr=False)

    def with_changes(self, changes: Mapping[str, Changes]) -> MirrorConfig:
        """The same file as if it held these changes of each flow, and no others. Raises ConfigError."""
        assert self._origin is not None
        return _read(replace(self._origin, changes=changes))

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
    """Read a file, and variables; `clusters` keeps only flows to these targets. Raises ConfigError: all problems."""
    variables = os.environ if environment is None else environment
    return load_properties(read_with_variables(Path(path), variables), variables, clusters)


def load_properties(
    file: PropertiesFile, environment: Mapping[str, str], clusters: Sequence[str] | None = None
) -> MirrorConfig:
    """The same of entries that have been read; the environment is only for `${env:…}`."""
    return _read(_Origin(file, environment, clusters))


@dataclass(frozen=True)
class _Origin:
    """All that a configuration is made from."""

    file: PropertiesFile
    environment: Mapping[str, str] = field(repr=False)
    targets: Sequence[str] | None
    changes: Mapping[str, Changes] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Does not travel with a configuration: it holds secrets as they stand in the file and the environment."""
        return type(None), ()


def _read(origin: _Origin) -> MirrorConfig:
    file = revised(origin.file, origin.changes)
    reading = Reading(file, origin.environment, origin.targets)
    found = list(reading.read())
    settings = _top_settings(reading.source)
    found.extend(check_rest(settings, file.file))
    hook_reader = HookReader(settings, file.file, tuple(reading.clusters), reading.secrets)
    hooks = hook_reader.read()
    found.extend(hook_reader.problems)
    conflict_reader = ConflictReader(reading.source, tuple(reading.clusters))
    flows = tuple(map(conflict_reader.without_own_topics, reading.flows))
    conflicts = conflict_reader.read(reading.clusters.values(), flows)
    found.extend(conflict_reader.problems)
    found.extend(check_spark(settings, bool(conflicts), file.file))
    problems = _in_order(_placed(file, _without(reading.secrets, problem)) for problem in found)
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise ConfigError([problem for problem in problems if problem.severity is not Severity.NOTE])
    spark = {name: revealed_text(s.value) for name, s in settings.items() if name.startswith("spark.")}
    return MirrorConfig(
        file.file,
        reading.clusters,
        flows,
        settings,
        spark,
        problems,
        tuple(reading.others),
        hooks,
        conflicts,
        origin,
    )


def _without(secrets: Sequence[Secret], problem: Problem) -> Problem:
    """The problem with every secret hidden: a second line, should a message ever repeat a value."""
    return replace(problem, message=redact(problem.message, secrets), hint=redact(problem.hint, secrets))


def _placed(file: PropertiesFile, problem: Problem) -> Problem:
    """The problem at the variable or the other file that holds its key, if one does."""
    entry = file.entries.get(problem.key)
    if entry is None or entry.line != problem.line or problem in file.problems:
        return problem
    return replace(problem, file=entry.variable or entry.file or problem.file)


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
