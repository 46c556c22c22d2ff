"""How values of Protobuf's special types pass to Kafka Connect and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeAlias

from heliograph.errors import DataError
from heliograph.transforms.formats import logical
from heliograph.transforms.schema import Instant

Read: TypeAlias = Callable[[Any], Any]
Fill: TypeAlias = Callable[[Any, Any], None]  # puts a value into a message

_EPOCH: Final = date(1970, 1, 1).toordinal()
_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_NANOS_PER_MS: Final = 1_000_000


def wrong(value: Any, expected: str) -> DataError:
    """A value is not what its schema says; the value itself is not shown."""
    return DataError(f"expected {expected}, found {type(value).__name__}")


def instant(value: Any) -> int:
    """The milliseconds of a moment."""
    if not isinstance(value, Instant):
        raise wrong(value, "a moment")
    return value.ms


def read_timestamp(message: Any) -> Instant:
    """A timestamp; what is finer than a millisecond is lost, as in Kafka Connect."""
    return Instant(message.seconds * 1000 + message.nanos // _NANOS_PER_MS)


def fill_timestamp(value: Any, message: Any) -> None:
    """Seconds and nanoseconds of a moment."""
    seconds, ms = divmod(instant(value), 1000)
    message.seconds, message.nanos = seconds, ms * _NANOS_PER_MS


def read_date(message: Any) -> Instant:
    """A day; DataError if there is no such day."""
    try:
        day = date(message.year, message.month, message.day)
    except ValueError:
        raise DataError("there is no such date") from None
    return Instant((day.toordinal() - _EPOCH) * logical.DAY_MS)


def fill_date(value: Any, message: Any) -> None:
    """Year, month and day of a date."""
    instant(value)
    try:
        day = date.fromordinal(logical.days_of(value) + _EPOCH)
    except (ValueError, OverflowError):
        raise DataError("a date lies outside of the years 1 to 9999") from None
    message.year, message.month, message.day = day.year, day.month, day.day


def read_time(message: Any) -> Instant:
    """A time of day; what is finer than a millisecond is lost, as in Kafka Connect."""
    seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
    return Instant(seconds * 1000 + message.nanos // _NANOS_PER_MS)


def fill_time(value: Any, message: Any) -> None:
    """Hours, minutes, seconds and nanoseconds of a time of day."""
    instant(value)
    message.hours, rest = divmod(logical.time_of(value), _HOUR_MS)
    message.minutes, rest = divmod(rest, _MINUTE_MS)
    message.seconds, ms = divmod(rest, 1000)
    message.nanos = ms * _NANOS_PER_MS


def read_decimal(message: Any) -> Decimal:
    """A decimal, which has its scale with it."""
    return logical.decimal_from_bytes(message.value, message.scale)


def decimal_filler(precision: int) -> Fill:
    """Puts decimals into messages that tell so many digits."""

    def fill(value: Any, message: Any) -> None:
        if not isinstance(value, Decimal) or not value.is_finite():
            raise wrong(value, "a decimal")
        scale = -int(value.as_tuple().exponent)
        message.value, message.scale, message.precision = logical.decimal_to_bytes(value, scale), scale, precision

    return fill


def signed(value: int) -> int:
    """An unsigned number of 64 bits as Java's long has it."""
    return value - (1 << 64) if value >= 1 << 63 else value


def unsigned(value: Any) -> Any:
    """And back."""
    return value + (1 << 64) if isinstance(value, int) and value < 0 else value


def symbol_reader(names: Mapping[int, str]) -> Read:
    """Reads enums as their symbols; a number that the schema does not know stays a number, as text."""
    return lambda number: names.get(number) or str(number)


def symbol_writer(numbers: Mapping[str, int]) -> Read:
    """Writes symbols as the numbers that stand for them."""

    def write(value: Any) -> int:
        number = numbers.get(value) if isinstance(value, str) else None
        if number is not None:
            return number
        try:
            return int(value)
        except (TypeError, ValueError):
            raise DataError("it is none of the enum's symbols") from None

    return write
