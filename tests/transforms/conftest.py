"""Kafka's own transforms to compare with, started once for the whole run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.transforms.java_oracle import JavaOracle, running_oracle


@pytest.fixture(scope="session")
def java_oracle() -> Iterator[JavaOracle]:
    """Kafka's own transforms and predicates. It keeps nothing of what it was asked."""
    with running_oracle() as oracle:
        yield oracle
