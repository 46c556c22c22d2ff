"""Settings over REST: what is refused, and how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.control.rest_connect.station import SOURCE, at_rest

_CANARY = "canary-of-the-vault"
_FILE = {
    "clusters": "a, b",
    "a.bootstrap.servers": "127.0.0.1:1",
    "b.bootstrap.servers": "127.0.0.1:2",
    "b.security.protocol": "SASL_PLAINTEXT",
    "b.sasl.mechanism": "PLAIN",
    "b.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required username=u "
    f'password="{_CANARY}";',
    "a->b.enabled": "true",
    "topics": "orders",
}
_CONFIG = f"{SOURCE}/config"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Of a mirror that never starts, and whose clusters do not answer."""
    folder: Path = tmp_path_factory.mktemp("configs")
    with at_rest(folder, _FILE) as client:
        yield client


@pytest.mark.parametrize(
    "changes",
    [
        {"replication.policy.class": "os.system"},
        {"source.cluster.bootstrap.servers": "elsewhere:9092"},
        {"target.cluster.sasl.jaas.config": "another"},
        {"target.producer.sasl.jaas.config": "another"},
        {"topics": "${file:/etc/passwd:root}"},
        {"no.such.setting": "1"},
        {"tasks.max": "many"},
        {"topics": "(unclosed"},
        {"source.cluster.bootstrap.servers": None},
    ],
)
def test_settings_that_cannot_be_are_told_in_connect_s_words(client: httpx.Client, changes: dict[str, Any]) -> None:
    before = client.get(_CONFIG).json()
    answer = client.patch(_CONFIG, json=changes)
    assert answer.status_code == 400
    message = answer.json()["message"]
    assert message.startswith("Connector configuration is invalid and contains the following 1 error(s):\n")
    assert client.get(_CONFIG).json() == before


def test_all_errors_come_at_once(client: httpx.Client) -> None:
    wanted = {**client.get(_CONFIG).json(), "forwarding.admin.class": "x", "no.such.setting": "1"}
    message = client.put(_CONFIG, json=wanted).json()["message"]
    assert "2 error(s)" in message
    assert "no.such.setting" in message
    assert "forwarding.admin.class" in message


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"connector.class": "MirrorHeartbeatConnector"},
        {"source.cluster.alias": "c"},
        {"target.cluster.alias": "c"},
        {"enabled": "false"},
    ],
)
def test_a_connector_stays_what_it_is(client: httpx.Client, changes: dict[str, str]) -> None:
    for answer in (
        client.patch(_CONFIG, json=changes),
        client.put(_CONFIG, json={**client.get(_CONFIG).json(), **changes}),
    ):
        assert answer.status_code == 400
        assert next(iter(changes)).rpartition(".")[2] in answer.json()["message"]


def test_a_map_as_it_was_shown_is_taken_back_with_its_hidden_secret_and_without_asking_a_cluster(
    client: httpx.Client,
) -> None:
    shown = client.get(_CONFIG).json()
    assert shown["target.cluster.sasl.jaas.config"] == "[hidden]"
    answer = client.put(_CONFIG, json=shown)
    assert answer.status_code == 200
    assert answer.json()["config"] == shown


def test_a_cluster_that_does_not_answer_is_told_and_nothing_is_changed(client: httpx.Client) -> None:
    before = client.get(_CONFIG).json()
    answer = client.patch(_CONFIG, json={"topics": "orders, payments"})
    assert (answer.status_code, answer.json()["error_code"]) == (503, 503)
    assert client.get(_CONFIG).json() == before


def test_no_answer_shows_a_secret(client: httpx.Client) -> None:
    plugin = "/connector-plugins/MirrorSourceConnector/config/validate"
    shown = client.get(_CONFIG).json()
    answers = [
        *(client.get(path) for path in ("/connectors?expand=info&expand=status", SOURCE, _CONFIG, f"{SOURCE}/tasks")),
        client.put(plugin, json=shown),
        client.put(plugin, json={**shown, "target.cluster.sasl.jaas.config": _CANARY}),
        client.patch(_CONFIG, json={"target.cluster.sasl.jaas.config": _CANARY}),
        client.patch(_CONFIG, json={"topics": "("}),
    ]
    assert not [answer.url for answer in answers if _CANARY in answer.text]


@pytest.mark.parametrize(
    "content", ["", "{bad", "[]", "1", "null", '{"topics": ["a"]}', '{"a": "\\ud800"}', "[" * 9999]
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_body_that_is_no_map_of_texts_is_a_bad_request(client: httpx.Client, method: str, content: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.request(method, _CONFIG, content=content, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)


def test_a_body_of_another_kind_is_not_read(client: httpx.Client) -> None:
    assert client.put(_CONFIG, content="{}", headers={"Content-Type": "text/plain"}).status_code == 415
