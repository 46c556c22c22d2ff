"""How much is told in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import httpx
import pytest

from heliograph.control.rest.connect.loggers import level_name


@pytest.fixture
def loggers() -> Iterator[str]:
    """A logger and one below it, of this test alone."""
    name = "tests.of.loggers"
    found = [logging.getLogger(name), logging.getLogger(f"{name}.below")]
    for logger in found:
        logger.setLevel(logging.INFO)
    yield name
    for logger in found:
        logger.setLevel(logging.NOTSET)


def test_a_level_counts_for_a_logger_and_those_below_it(client: httpx.Client, loggers: str) -> None:
    assert client.get(f"/admin/loggers/{loggers}").json() == {"level": "INFO", "last_modified": None}
    answer = client.put(f"/admin/loggers/{loggers}", json={"level": "debug"})
    assert answer.json() == [loggers, f"{loggers}.below"]
    assert logging.getLogger(f"{loggers}.below").getEffectiveLevel() == logging.DEBUG
    shown = client.get("/admin/loggers").json()[f"{loggers}.below"]
    assert shown["level"] == "DEBUG"
    assert isinstance(shown["last_modified"], int)
    assert client.put(f"/admin/loggers/{loggers}", json={"level": "DEBUG"}).json() == []
    assert client.put(f"/admin/loggers/{loggers}?scope=cluster", json={"level": "WARN"}).status_code == 204
    assert logging.getLogger(loggers).level == logging.WARNING


def test_a_logger_that_is_off_tells_nothing(client: httpx.Client, loggers: str) -> None:
    client.put(f"/admin/loggers/{loggers}", json={"level": "OFF"})
    assert not logging.getLogger(loggers).isEnabledFor(logging.CRITICAL)
    client.put(f"/admin/loggers/{loggers}", json={"level": "TRACE"})
    assert logging.getLogger(loggers).isEnabledFor(5)


@pytest.mark.parametrize(
    ("level", "name"), [(0, "ALL"), (1, "ALL"), (5, "TRACE"), (15, "DEBUG"), (30, "WARN"), (50, "FATAL"), (99, "OFF")]
)
def test_every_level_of_python_has_a_name(level: int, name: str) -> None:
    assert level_name(level) == name
