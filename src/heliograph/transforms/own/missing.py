"""What a predicate says of a message that has not got what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heliograph.errors import DataError
from heliograph.transforms.own.comparison import EXISTS
from heliograph.transforms.stage import StageOption

IF_MISSING_OPTION = StageOption(
    "if.missing",
    "What the predicate is where there is nothing to compare, not even null: false, true, or the record fails. "
    "With operator exists it is false.",
    default="false",
    choices=("false", "true", "fail"),
)


@dataclass(frozen=True)
class Missing:
    """The answer, or None where there is none and the message fails."""

    value: bool | None

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Missing:
        """Read the setting `if.missing`."""
        if settings.get("operator") == EXISTS:
            return cls(False)
        return cls({"false": False, "true": True}.get(settings.get("if.missing", "false")))

    def answer(self, what: str) -> bool:
        """The answer; DataError with these words if there is none."""
        if self.value is None:
            raise DataError(what)
        return self.value
