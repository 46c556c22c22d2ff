"""A real Prometheus with the configuration that we ship, only faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from heliograph.embedded.child import ChildProcess
from heliograph.embedded.ports import free_ports
from tests.programs import program
from tests.waiting import wait_until

FOLDER = Path(__file__).parents[2] / "deploy" / "prometheus"
RULES = FOLDER / "heliograph-rules.yml"

_INTERVAL = "1s"
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Prometheus:
    """Where it listens."""

    address: str

    def query(self, expression: str) -> dict[frozenset[tuple[str, str]], float]:
        """What an expression says now, by labels; an expression that it does not understand is an error."""
        answer = httpx.get(f"{self.address}/api/v1/query", params={"query": expression}, timeout=10).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        result = answer["data"]["result"]
        return {frozenset(item["metric"].items()): float(item["value"][1]) for item in result}

    def value(self, expression: str) -> float:
        """The only number that an expression gives."""
        found = self.query(expression)
        assert len(found) == 1, f"{expression}: {found}"
        return next(iter(found.values()))

    def await_value(self, expression: str, wanted: float, seconds: float = _PATIENCE_SECONDS) -> None:
        """Wait until the only series of an expression has a value."""
        wait_until(lambda: list(self.query(expression).values()) == [wanted], f"{expression} = {wanted}", seconds, 0.2)

    def rules(self) -> list[dict[str, Any]]:
        """All rules, and how Prometheus gets on with them."""
        data = httpx.get(f"{self.address}/api/v1/rules", timeout=10).json()["data"]
        return [rule for group in data["groups"] for rule in group["rules"]]


@contextmanager
def running_prometheus(target: str, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes an address every second."""
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": _INTERVAL, "evaluation_interval": _INTERVAL}
    config["rule_files"] = [str(RULES)]
    config["scrape_configs"] = [job for job in config["scrape_configs"] if job["job_name"] == "heliograph"]
    config["scrape_configs"][0]["static_configs"] = [{"targets": [target]}]
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    [port] = free_ports(1)
    address = f"127.0.0.1:{port}"
    command = [
        program("prometheus", "prometheus"), f"--config.file={file}", f"--web.listen-address={address}",
        f"--storage.tsdb.path={folder / 'data'}",
    ]  # fmt: skip
    process = ChildProcess("Prometheus", command, folder / "prometheus.log")
    try:
        prometheus = Prometheus(f"http://{address}")
        process.wait_until(lambda: _is_ready(prometheus), _PATIENCE_SECONDS)
        prometheus.await_value('up{job="heliograph"}', 1)
        yield prometheus
    finally:
        process.stop()


def _is_ready(prometheus: Prometheus) -> bool:
    try:
        return httpx.get(f"{prometheus.address}/-/ready", timeout=2).status_code == 200
    except httpx.TransportError:
        return False
