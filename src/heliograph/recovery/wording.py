"""Counts as people say them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 topic`, `2,000 topics`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
