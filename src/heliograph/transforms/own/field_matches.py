"""FieldMatches: which messages have a certain value in a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heliograph.transforms.message import Message
from heliograph.transforms.own.comparison import OPERATOR_OPTION, VALUE_OPTION, comparison
from heliograph.transforms.own.missing import IF_MISSING_OPTION, Missing
from heliograph.transforms.smt.field_path import FieldPath
from heliograph.transforms.stage import Predicate, StageOption
from heliograph.transforms.struct import Struct


class FieldMatches(Predicate):
    """True for messages in which a field is as wanted; of arrays on the way, for one element at least."""

    OPTIONS = (
        StageOption(
            "path",
            "The field: a name, or a dotted path such as customer.country; a name with dots in it stands between "
            "backticks. Without it, the whole key or value.",
        ),
        OPERATOR_OPTION,
        VALUE_OPTION,
        StageOption(
            "side", "Where the field is: in the value or in the key.", default="value", choices=("value", "key")
        ),
        IF_MISSING_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the path and the comparison."""
        self._path = settings.get("path", "")
        try:
            self._steps = FieldPath.parse(self._path, "V2").steps if self._path else ()
        except ValueError as error:
            raise ValueError(f"path: {error}") from None
        self._compare = comparison(settings)
        self._is_key = settings.get("side", "value") == "key"
        self._missing = Missing.of(settings)

    def test(self, message: Message) -> bool:
        """Whether the field is as wanted."""
        side = message.key if self._is_key else message.value
        if side.is_null:
            return self._missing.answer(self._what())
        found = list(_found(side.parsed(message.topic).value, self._steps))
        if not found:
            return self._missing.answer(self._what())
        return any(map(self._compare, found))

    def _what(self) -> str:
        side = "key" if self._is_key else "value"
        return (
            f"FieldMatches: the {side} has no field {self._path}" if self._path else f"FieldMatches: there is no {side}"
        )


def _found(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    """All values that a path leads to."""
    if not steps:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _found(item, steps)
    elif isinstance(value, dict):
        if steps[0] in value:
            yield from _found(value[steps[0]], steps[1:])
    elif isinstance(value, Struct) and steps[0] in value.schema.by_name:
        yield from _found(value.get(steps[0]), steps[1:])
