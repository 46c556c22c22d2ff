"""Chance that can be had again, and numbers that are seen also when a test passes."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

Tell = Callable[[str], None]


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Tell:
    """Prints a line about this test."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{request.node.name}: {line}")

    return say


@pytest.fixture
def chance(tell: Tell) -> random.Random:
    """Another course of events in each run; the environment variable HELIOGRAPH_SEED brings one back."""
    seed = int(os.environ.get("HELIOGRAPH_SEED") or random.randrange(10**9))
    tell(f"seed {seed}")
    return random.Random(seed)
