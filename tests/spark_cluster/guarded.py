"""Clusters that ask for passwords, and all places where Spark could show them."""

from __future__ import annotations

import html
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil

from heliograph.embedded.cluster import EmbeddedCluster

CANARIES = {"near": "canary-7c0a19", "there": "canary-e85f24"}  # passwords of alice, by cluster
ALIASES = ("near", "there")


def guarded_options(clusters: Mapping[str, EmbeddedCluster], events: Path) -> dict[str, str]:
    """How a mirror logs in; Spark writes down in a folder all that happens, which is made."""
    events.mkdir()
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "spark.executor.memory": "512m",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
    }
    for alias, password in CANARIES.items():
        options[f"{alias}.bootstrap.servers"] = clusters[alias].addresses("SASL")
        options[f"{alias}.sasl.jaas.config"] = (
            f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{password}";'
        )
    return options


def expect_no_secret(shown: Iterable[str]) -> None:
    """No password is in any of these texts, among which are Spark's events and what its executors wrote."""
    texts = list(shown)
    assert any("SparkListenerEnvironmentUpdate" in text for text in texts), "the event log was not looked at"
    assert any("CoarseGrainedExecutorBackend" in text for text in texts), "executors were not looked at"
    for text in texts:
        assert not any(canary in text for canary in CANARIES.values()), text[:500]


def pages(root: str) -> Iterator[str]:
    """Spark's own pages, and those that they link to."""
    waiting, seen = ["/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/"], set()
    while waiting and len(seen) < 60:
        path = waiting.pop(0)
        seen.add(path)
        with urllib.request.urlopen(root + path) as answer:
            text = answer.read().decode(errors="replace")
        yield text
        linked = map(html.unescape, re.findall(r'href="(?:http://[^/"]+)?(/[^"#]+)"', text))
        waiting += [link for link in dict.fromkeys(linked) if link not in seen and not link.startswith("/static")]


def process_list() -> Iterator[str]:
    """The command lines of all processes."""
    for process in psutil.process_iter(["cmdline"]):
        yield " ".join(process.info["cmdline"] or ())


def contents(folder: Path) -> Iterator[str]:
    """All files below a folder, but for the programs that executors were sent."""
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith("heliograph_") or part == "jars" for part in path.parts):
            yield path.read_text(errors="replace")
