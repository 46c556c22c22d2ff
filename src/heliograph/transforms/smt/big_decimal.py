"""Decimal numbers as Java's `BigDecimal` reads them."""

from __future__ import annotations

import re
from decimal import Decimal

_TEXT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_LARGEST_EXPONENT = 2**31 - 1


def big_decimal(text: str) -> Decimal:
    """The number that a text is; ValueError if it is none."""
    found = _TEXT.fullmatch(text)
    if found is None or abs(int(found[1] or 0)) > _LARGEST_EXPONENT:
        raise ValueError("not a number")
    return Decimal(text)
