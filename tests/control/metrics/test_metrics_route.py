from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from heliograph.config.credential_hash import TokenHash
from heliograph.control.rest.server import RestServer
from tests.control.metrics.scrape import Scrape
from tests.control.metrics.still_mirror import StillMirror

_PARTITIONS = 1000
_TOKEN = "token-of-prometheus"
_REQUESTS = 100
_CPU_SECONDS = 1.0  # making a page for each would take several times as long; slow machines need some room


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of a mirror with many partitions, which knows one caller."""
    still = StillMirror.of(tmp_path, f"rest.token.prometheus = viewer:{TokenHash.of(_TOKEN)}\n", _PARTITIONS)
    still.mirrored([1] * _PARTITIONS)
    server = RestServer(still.mirror, ["http://127.0.0.1:0"])
    server.start()
    yield server.addresses[0]
    server.stop()


def test_viewers_get_metrics_and_nobody_else(address: str) -> None:
    assert httpx.get(f"{address}/metrics", timeout=30).status_code == 401
    answer = httpx.get(f"{address}/metrics", headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=30)
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert len(Scrape.of(answer.text).all("mirrormaker_partition_lag")) == _PARTITIONS


def test_many_requests_cost_little(address: str) -> None:
    with httpx.Client(headers={"Authorization": f"Bearer {_TOKEN}"}, timeout=30) as client:
        client.get(f"{address}/metrics")
        before = _cpu_seconds()
        for _ in range(_REQUESTS):
            # The answer is not read, since what that costs is not the server's.
            with client.stream("GET", f"{address}/metrics") as answer:
                assert answer.headers["content-encoding"] == "gzip"
                assert len(b"".join(answer.iter_raw())) > 10_000
        used = _cpu_seconds() - before
    assert used < _CPU_SECONDS, "client and server together, in one process"


def _cpu_seconds() -> float:
    times = psutil.Process().cpu_times()
    return float(times.user + times.system)
