"""What the process tells of itself."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from heliograph import __version__
from heliograph.config.mirror_config import load
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import write_settings
from tests.control.rest_connect.station import SOURCE, served

_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def test_health_is_starting_then_healthy_then_unhealthy(mirror: RunningMirror, client: httpx.Client) -> None:
    driver = mirror.drivers()[0]
    driver.failed("nobody answers")
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "starting")
    assert "a->b is starting: nobody answers" in answer.json()["message"]
    driver.in_charge.set()
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    mirror.flow("a->b").has_ended = lambda: True
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (500, "unhealthy")
    assert "a->b has ended" in answer.json()["message"]


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        (_BROWSER, True),
        ("text/html", True),
        ("*/*", False),
        ("application/json", False),
        ("application/json, text/html;q=0.5", False),
        ("text/html;q=bad", False),
        ("", False),
    ],
)
def test_browsers_are_sent_to_the_page_and_programs_are_not(client: httpx.Client, accept: str, is_page: bool) -> None:
    answer = client.get("/", headers={"Accept": accept})
    assert answer.is_redirect == is_page
    if is_page:
        assert answer.headers["location"] == "/ui/"
    else:
        assert answer.status_code == 503  # the clusters do not answer


@pytest.mark.kafka
def test_the_root_names_version_and_target_cluster(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    write_settings(file, {"a": primary, "b": backup}, ["a->b"], {})
    with served(RunningMirror(load(file))) as client:
        answer = client.get("/").json()
    assert answer["version"] == __version__
    assert len(answer["kafka_cluster_id"]) == 22


def test_the_worker_is_named_by_its_address(client: httpx.Client) -> None:
    worker = client.get(f"{SOURCE}/status").json()["connector"]["worker_id"]
    assert f"http://{worker}" == str(client.base_url).rstrip("/")
