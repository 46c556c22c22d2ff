"""Environment variables beside the file: every option can be one, and wins over the line that sets the same key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from heliograph.config import connect_variables, properties
from heliograph.config.problem import Problem, Severity
from heliograph.config.properties import Entry, PropertiesFile
from heliograph.config.providers import references
from heliograph.config.value import split_list
from heliograph.config.variable_name import (
    FILE_ALONE,
    NO_FILE,
    PREFIX,
    PROPERTIES,
    closest,
    is_own,
    meant_keys,
    variable_for,
)
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_CLUSTERS: Final = "clusters"


def read_with_variables(path: Path, environment: Mapping[str, str]) -> PropertiesFile:
    """Read a file, and what variables say beside it. The path `-` stands for no file."""
    if str(path) != NO_FILE:
        return with_variables(properties.read(path), environment)
    found = with_variables(PropertiesFile(NO_FILE, {}, ()), environment)
    if not found.entries and not found.problems:
        message = f"no file was given, and no {PREFIX} variable takes its place"
        hint = f"give the path of an mm2.properties file, or set {variable_for(_CLUSTERS)} and so on"
        raise ConfigError([Problem(Severity.ERROR, message, hint)])
    return found


def with_variables(file: PropertiesFile, environment: Mapping[str, str]) -> PropertiesFile:
    """The file as if it also said what the variables say, which win. Raises ConfigError."""
    if environment.get(FILE_ALONE, "").strip().lower() in ("1", "true", "yes"):
        return file
    reader = _Reader(file, environment)
    reader.read()
    return replace(file, entries=reader.entries, problems=(*file.problems, *reader.problems))


class _Reader:
    """Puts the entries of variables above those of a file."""

    def __init__(self, file: PropertiesFile, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.entries: dict[str, Entry] = dict(file.entries)
        self.problems: list[Problem] = []

    def read(self) -> None:
        self._read_lines(self._environment.get(PROPERTIES, ""))
        if aliases := self._environment.get(variable_for(_CLUSTERS)):
            self._set(_CLUSTERS, aliases, variable_for(_CLUSTERS))
        names = self._aliases()
        for variable in sorted(self._environment):
            if variable.startswith(PREFIX) and not is_own(variable) and self._environment[variable]:
                self._read_variable(variable, names)
        entries, problems = connect_variables.read(self._environment)
        self.entries = {**entries, **self.entries}  # a worker's variables only fill gaps
        self.problems += problems

    def _read_lines(self, text: str) -> None:
        lines = properties.parse(text.encode("latin-1", "javapropertiesreplace"), PROPERTIES)
        self.problems += lines.problems
        self.entries |= {key: replace(entry, variable=PROPERTIES) for key, entry in lines.entries.items()}

    def _aliases(self) -> list[str]:
        clusters = self.entries.get(_CLUSTERS)
        return [alias for alias in split_list(clusters.value) if alias] if clusters else []

    def _read_variable(self, variable: str, aliases: Sequence[str]) -> None:
        keys = meant_keys(variable.removeprefix(PREFIX), aliases, self.entries)
        if len(keys) == 1:
            self._set(keys[0], self._environment[variable], variable)
        elif keys:
            message = f"may mean {' or '.join(keys)}"
            self.problems.append(Problem(Severity.ERROR, message, f"write the line into {PROPERTIES}", variable))
        elif variable not in set(_referred_to(self.entries.values())):
            self.problems.append(_unknown(variable, aliases))

    def _set(self, key: str, value: str, variable: str) -> None:
        self.entries[key] = Entry(key, value, 0, variable=variable)


def _referred_to(entries: Iterable[Entry]) -> Iterator[str]:
    """What values look up by `${env:…}`, under whatever name that provider has: no option, but not mistyped either."""
    for entry in entries:
        yield from (reference.key for reference in references(entry.value))


def _unknown(variable: str, aliases: Sequence[str]) -> Problem:
    guess = closest(variable, aliases)
    hint = f"did you mean {guess}?" if guess else f"clusters are {', '.join(aliases) or 'not named'}"
    return Problem(Severity.WARNING, "is no option, ignored", hint, variable)
