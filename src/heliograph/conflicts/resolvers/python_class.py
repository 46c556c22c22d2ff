"""Rules that users write as Python classes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Kept, Resolver
from heliograph.errors import DataError
from heliograph.policy.plugins import PluginError, find_class


class PythonClass(Resolver):
    """Runs a subclass of `Resolver` of someone else's, and checks what it answers."""

    def __init__(self, class_name: str) -> None:
        """PluginError if there is no such class, or it cannot be made."""
        self._name = class_name.strip()
        found = find_class(self._name, Resolver)
        try:
            self._user: Resolver = found()
        except Exception as error:  # code of others: anything may come out of it
            raise PluginError(f"{self._name}() fails: {type(error).__name__}: {error}") from error

    def configure(self, settings: Mapping[str, str]) -> None:
        """Hand the settings to the class."""
        try:
            self._user.configure(settings)
        except ValueError:
            raise
        except Exception as error:  # code of others: anything may come out of it
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def resolve(self, conflict: Conflict) -> Resolution:
        """What the class says; of what it raises, only the kind and the place are told, since texts may hold data."""
        return self._checked(self._call(lambda: self._user.resolve(conflict)), conflict)

    @property
    def accumulates(self) -> bool:
        """As the class says."""
        return self._user.accumulates

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        """What the class makes of the view."""
        kept = self._call(lambda: self._user.keep(before, candidates, value))
        if not isinstance(kept, Kept):
            raise DataError(f"{self._name}: keep returned a {type(kept).__name__}, not a Kept")
        return kept

    def _call(self, method: Callable[[], object]) -> object:
        try:
            return method()
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"{self._name}: {type(error).__name__} {_place(error)}") from None

    def _checked(self, resolution: object, conflict: Conflict) -> Resolution:
        if not isinstance(resolution, Resolution):
            raise DataError(f"{self._name}: resolve returned a {type(resolution).__name__}, not a Resolution")
        if not isinstance(resolution.value, bytes | None):
            raise DataError(f"{self._name}: the value must be bytes or None, not {type(resolution.value).__name__}")
        if resolution.winner is not None and resolution.winner not in conflict.candidates:
            raise DataError(f"{self._name}: the winner is none of the candidates")
        return resolution._replace(rule=self._name, note=str(resolution.note))


def _place(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"in {Path(frame.filename).name}, line {frame.lineno}"
