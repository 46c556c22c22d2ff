"""Schema registries for tests of formats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.transforms.formats.registered import book_of
from heliograph.transforms.formats.registry import registry_of
from tests.transforms.formats.registry_server import RegistryServer, running_registry


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Nothing is known of the registries of other tests: one may have had the same port."""
    yield
    book_of.cache_clear()
    registry_of.cache_clear()


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    """An empty schema registry."""
    with running_registry() as server:
        yield server


@pytest.fixture
def target_registry() -> Iterator[RegistryServer]:
    """Another one, which counts its ids from 1000."""
    with running_registry(first_id=1000) as server:
        yield server
