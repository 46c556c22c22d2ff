"""Transforms that users write as plain Python classes."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from heliograph.errors import DataError
from heliograph.policy.plugins import PluginError
from heliograph.transforms.message import Message
from heliograph.transforms.record import Record
from heliograph.transforms.record_table import BadTable, RecordTable
from heliograph.transforms.stage import Outcome, StageOption, Transform


def adapted(found_class: type) -> Transform:
    """A transform of a user's class: a subclass of `Transform`, or one with `apply(record)` or `apply_batch(table)`.

    PluginError if it is none of these. What a plain class gets and gives is told in docs/transforms.md.
    """
    if issubclass(found_class, Transform):
        transform: Transform = _made(found_class)
        return transform
    by_row, by_table = (_method(found_class, name) for name in ("apply", "apply_batch"))
    if by_row and by_table:
        raise PluginError(f"{found_class.__name__} has apply(record) and apply_batch(table): one of them must go")
    if not (by_row or by_table):
        raise PluginError(f"{found_class.__name__} has neither apply(record) nor apply_batch(table)")
    return _adapter(RowTransform if by_row else TableTransform, found_class)


class _PythonTransform(Transform):
    """What both kinds have in common: the user's object, and how it is treated."""

    takes_any_setting: ClassVar[bool] = True

    def __init__(self, user: Any) -> None:
        self._user = user
        self.class_name = type(user).__name__

    def configure(self, settings: Mapping[str, str]) -> None:
        """Hand the settings to the class, if it wants them."""
        configure = getattr(self._user, "configure", None)
        if configure is None:
            return
        try:
            configure(dict(settings))
        except ValueError:
            raise
        except Exception as error:  # code of others: anything may come out of it
            raise ValueError(f"{type(error).__name__}: {error}") from error

    def _call(self, method: Callable[[Any], Any], argument: Any) -> Any:
        """Run code of others: of what it raises, only the kind and the place are told, since texts may hold data."""
        try:
            return method(argument)
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"{self.class_name}: {type(error).__name__} {_place(error)}") from None


class RowTransform(_PythonTransform):
    """A class with `apply(record)`, which gives the record back, or None to drop it."""

    def apply(self, message: Message) -> Message | None:
        """The message as the class leaves it."""
        returned = self._call(self._user.apply, Record(message))
        if returned is None:
            return None
        if not isinstance(returned, Record):
            raise DataError(f"{self.class_name}: apply returned {_kind(returned)}: it must return the record or None")
        if not returned.is_of(message):
            raise DataError(f"{self.class_name}: apply returned the record of another call")
        try:
            return returned.finish()
        except DataError as error:
            raise type(error)(f"{self.class_name}: {error}") from None


class TableTransform(_PythonTransform):
    """A class with `apply_batch(table)`, which gives back a table with the rows that go on."""

    def apply(self, message: Message) -> Message | None:
        """The message as the class leaves it."""
        (outcome,) = self.apply_many([message])
        if isinstance(outcome, DataError):
            raise outcome
        return outcome

    def apply_many(self, messages: Sequence[Message]) -> list[Outcome]:
        """What becomes of each message; as many at once as the offsets in one table can tell apart."""
        outcomes: list[Outcome] = []
        for part in _distinguishable(messages):
            outcomes += self._applied(part)
        return outcomes

    def _applied(self, messages: Sequence[Message]) -> list[Outcome]:
        table = RecordTable(messages, self.class_name)
        if not table.rows:
            return table.outcomes(None)
        try:
            returned = self._call(self._user.apply_batch, table.arrow())
        except DataError as error:
            return self._after_failure(messages, error)
        try:
            return table.outcomes(returned)
        except BadTable as error:
            return [DataError(f"{self.class_name}: apply_batch returned {error}")] * len(messages)

    def _after_failure(self, messages: Sequence[Message], error: DataError) -> list[Outcome]:
        """One bad record must not take the others with it: halve until it is alone."""
        if len(messages) == 1 or error.retriable:
            return [error] * len(messages)
        middle = len(messages) // 2
        return [*self._applied(messages[:middle]), *self._applied(messages[middle:])]


def _adapter(kind: type[_PythonTransform], found_class: type) -> Transform:
    """A class of its own for the user's, with its name and what it says about itself."""
    options: tuple[StageOption, ...] | None = getattr(found_class, "OPTIONS", None)
    traits = {
        "OPTIONS": tuple(options or ()),
        "takes_any_setting": options is None,
        # No one but its author knows what the class takes out, so that a failing record is shown only if allowed.
        "hides_data": bool(getattr(found_class, "hides_data", True)),
    }
    transform: Transform = type(found_class.__name__, (kind,), traits)(_made(found_class))
    return transform


def _made(found_class: type) -> Any:
    try:
        return found_class()
    except Exception as error:  # code of others: anything may come out of it
        raise PluginError(f"{found_class.__name__}() fails: {type(error).__name__}: {error}") from error


def _method(found_class: type, name: str) -> bool:
    method = getattr(found_class, name, None)
    if method is None:
        return False
    if not callable(method):
        raise PluginError(f"{found_class.__name__}.{name} is not a method")
    if inspect.iscoroutinefunction(method) or inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise PluginError(f"{found_class.__name__}.{name} must be a plain method: without async, without yield")
    return True


def _kind(value: Any) -> str:
    if isinstance(value, list | tuple | set | dict) or hasattr(value, "__next__"):
        return f"a {type(value).__name__}, but one record cannot become several"
    return f"a {type(value).__name__}"


def _place(error: Exception) -> str:
    """Where in the user's code it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).parent
    theirs = [frame for frame in frames if Path(frame.filename).parent != here]
    return f"in {Path(theirs[0].filename).name}, line {theirs[0].lineno}" if theirs else "on the way there"


def _distinguishable(messages: Sequence[Message]) -> list[list[Message]]:
    parts: list[list[Message]] = []
    topic, seen = "", set[int]()
    for message in messages:
        if not parts or message.source_topic != topic or message.offset in seen:
            parts.append([])
            topic, seen = message.source_topic, set()
        parts[-1].append(message)
        seen.add(message.offset)
    return parts
