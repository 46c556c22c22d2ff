"""A receiver of alerts, and who sends to it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.monitor.receivers import Hook, running_hook


@pytest.fixture
def hook() -> Iterator[Hook]:
    """Somebody who takes what is sent."""
    with running_hook() as hook:
        yield hook


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    """Who sends, straight and not through a proxy."""
    with httpx.Client(trust_env=False, timeout=30) as client:
        yield client
