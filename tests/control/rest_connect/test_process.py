"""What the process tells of itself: health, plugins, loggers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from heliograph import __version__
from heliograph.config.mirror_config import load
from heliograph.control.rest.connect.loggers import level_name
from heliograph.control.running_mirror import RunningMirror
from tests.control.rest_connect.station import SOURCE, Station, served

_FILE = """
clusters = a, b
a.bootstrap.servers = 127.0.0.1:1
b.bootstrap.servers = 127.0.0.1:2
a->b.enabled = true
"""
_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture
def mirror(tmp_path: Path) -> RunningMirror:
    """One that is not started."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return RunningMirror(load(file))


@pytest.fixture
def client(mirror: RunningMirror) -> Iterator[httpx.Client]:
    """Of that mirror."""
    with served(mirror) as client:
        yield client


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
def test_the_root_names_version_and_target_cluster(station: Station) -> None:
    with station.served_at_rest() as client:
        answer = client.get("/").json()
    assert answer["version"] == __version__
    assert len(answer["kafka_cluster_id"]) == 22


def test_the_worker_is_named_by_its_address(client: httpx.Client) -> None:
    worker = client.get(f"{SOURCE}/status").json()["connector"]["worker_id"]
    assert f"http://{worker}" == str(client.base_url).rstrip("/")


def test_plugins_are_the_three_connectors_and_what_else_can_be_named(client: httpx.Client) -> None:
    found = client.get("/connector-plugins").json()
    assert {item["class"].rpartition(".")[2] for item in found} == {
        "MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector",
    }  # fmt: skip
    assert {item["type"] for item in client.get("/connector-plugins?connectorsOnly=false").json()} > {"source"}


@pytest.mark.parametrize(
    ("plugin", "own"),
    [
        ("MirrorSourceConnector", "topics"),
        ("MirrorCheckpoint", "groups"),
        ("org.apache.kafka.connect.mirror.MirrorHeartbeatConnector", "emit.heartbeats.enabled"),
    ],
)
def test_each_connector_defines_its_own_settings_and_the_common_ones(
    client: httpx.Client, plugin: str, own: str
) -> None:
    names = {item["name"]: item for item in client.get(f"/connector-plugins/{plugin}/config").json()}
    assert {own, "tasks.max", "name"} <= names.keys()
    assert len({"topics", "groups", "emit.heartbeats.enabled"} & names.keys()) == 1
    assert names["tasks.max"]["default_value"] == "1"
    assert (names["name"]["required"], names["name"]["default_value"]) == (True, None)


def test_validation_finds_what_a_change_would_be_refused_for(client: httpx.Client) -> None:
    config = client.get(f"{SOURCE}/config").json()
    path = "/connector-plugins/MirrorSourceConnector/config/validate"

    def errors(**changes: str) -> dict[str, list[str]]:
        answer = client.put(path, json={**config, **changes}).json()
        found = {item["value"]["name"]: item["value"]["errors"] for item in answer["configs"]}
        assert answer["error_count"] == sum(map(len, found.values()))
        return {name: texts for name, texts in found.items() if texts}

    assert errors() == {}
    assert errors(topics="orders") == {}
    assert set(errors(**{"tasks.max": "many", "offset.lag.max": "-1"})) == {"tasks.max", "offset.lag.max"}
    assert set(errors(**{"replication.policy.class": "os.system"})) == {"replication.policy.class"}
    assert set(errors(**{"no.such.setting": "1"})) == {"no.such.setting"}
    assert set(errors(**{"source.cluster.alias": "elsewhere", "no.such.setting": "1"})) == set()  # no flow of ours
    answer = client.put(path, json={"connector.class": "MirrorSource"}).json()
    missing = {item["value"]["name"] for item in answer["configs"] if item["value"]["errors"]}
    assert missing == {"name", "source.cluster.alias"}


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
