"""CRC-32C of a batch whose header has changed, without a look at its records.

A checksum is linear: what a change of the first bytes does to it depends on these bytes and on how many follow, not on
what follows. So the new checksum is the old one, combined with the difference that the change makes to the checksum of
the first bytes alone, moved on over the length of the rest. Moving on by some length is a linear map of 32 bits. It is
looked up in tables, one for each digit of the length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from crc32c import crc32c

_POLYNOMIAL = 0x82F63B78  # reversed
_DIGIT_BITS = 4
_DIGIT = (1 << _DIGIT_BITS) - 1

_Tables = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]  # for each byte of a checksum


def after_change(checksum: int, before: bytes | memoryview, now: bytes | memoryview, following: int) -> int:
    """The checksum of what began with `before`, and begins with as many other bytes now; so many bytes follow them."""
    return checksum ^ moved_on(crc32c(before) ^ crc32c(now), following)


def moved_on(difference: int, size: int) -> int:
    """What becomes of the difference of two checksums when so many equal bytes follow."""
    digit = 0
    while size:
        if value := size & _DIGIT:
            first, second, third, fourth = _tables(digit, value)
            difference = (
                first[difference & 0xFF]
                ^ second[difference >> 8 & 0xFF]
                ^ third[difference >> 16 & 0xFF]
                ^ fourth[difference >> 24]
            )
        size >>= _DIGIT_BITS
        digit += 1
    return difference


@cache
def _tables(digit: int, value: int) -> _Tables:
    """For a length that has this digit alone."""
    columns = _columns(digit)
    moved = [1 << bit for bit in range(32)]
    for _ in range(value):
        moved = [_applied(columns, number) for number in moved]
    first, second, third, fourth = (_table(moved[start : start + 8]) for start in range(0, 32, 8))
    return first, second, third, fourth


def _table(columns: Sequence[int]) -> Sequence[int]:
    return [_applied(columns, number) for number in range(256)]


@cache
def _columns(digit: int) -> Sequence[int]:
    """What becomes of each bit when as many bytes follow as a one in this place stands for."""
    if digit == 0:
        found = [_one_byte(1 << bit) for bit in range(32)]
    else:
        found = [1 << bit for bit in range(32)]
        for _ in range(_DIGIT + 1):
            found = [_applied(_columns(digit - 1), number) for number in found]
    return found


def _one_byte(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
    return number


def _applied(columns: Sequence[int], number: int) -> int:
    found = 0
    for column in columns:
        if not number:
            break
        if number & 1:
            found ^= column
        number >>= 1
    return found
