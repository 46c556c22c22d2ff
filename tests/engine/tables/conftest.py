"""A Spark session that knows `heliograph.records`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from heliograph.engine.session import start_session
from heliograph.engine.tables import register


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file in here makes a Python worker of the session die at the point of its name."""
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def spark(faults: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two task slots, ended with the module: other tests start sessions of their own."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        "spark.executorEnv.HELIOGRAPH_FAULTS": str(faults),
    }
    session = start_session(2, settings, tmp_path_factory.mktemp("spark") / "spark.log")
    register(session)
    yield session
    session.stop()
