"""Checksums that follow from others."""

from __future__ import annotations

import random

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka.checksums import after_change, moved_on


@given(st.binary(min_size=1, max_size=60), st.integers(0, 2**32), st.integers(0, 70_000))
def test_a_checksum_follows_from_the_one_before_the_change(now: bytes, seed: int, following: int) -> None:
    drawn = random.Random(seed)
    before, rest = drawn.randbytes(len(now)), drawn.randbytes(following)
    assert after_change(crc32c(before + rest), before, now, following) == crc32c(now + rest)


@pytest.mark.parametrize("following", [0, 1, 15, 16, 255, 4_096, 1_048_576, 16_777_215, 20_000_000])
def test_also_in_front_of_a_large_batch(following: int) -> None:
    rest = bytes(following)
    assert after_change(crc32c(b"before" + rest), b"before", b"behind", following) == crc32c(b"behind" + rest)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**24), st.integers(0, 2**24))
def test_moving_on_twice_is_moving_on_by_both(difference: int, one: int, other: int) -> None:
    assert moved_on(moved_on(difference, one), other) == moved_on(difference, one + other)


def test_what_was_damaged_before_stays_visible() -> None:
    damaged = crc32c(b"before" + b"rest") ^ 1
    assert after_change(damaged, b"before", b"behind", 4) != crc32c(b"behind" + b"rest")
