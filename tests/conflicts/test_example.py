"""The rule in the documentation does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.conflicts.resolvers.catalogue import make_resolver
from tests.conflicts.samples import conflict, record

_EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with PYTHONPATH=docs/examples."""
    monkeypatch.syspath_prepend(_EXAMPLES)


def test_the_highest_bid_counts_and_of_equal_ones_the_later() -> None:
    resolver = make_resolver({"conflicts.resolver": "highest_bid.HighestBid", "conflicts.resolver.field": "bid"})
    high, low = record("eu", 1, b'{"bid": 7}'), record("us", 3, b'{"bid": 5}')
    later = record("us", 2, b'{"bid": 7}', offset=1)
    assert resolver.resolve(conflict(high, low)).winner == high
    assert resolver.resolve(conflict(high, later, low)).winner == later
    assert resolver.resolve(conflict(high, low)).rule == "highest_bid.HighestBid"
