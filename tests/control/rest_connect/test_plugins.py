"""Classes, definitions of settings, and what is wrong with given ones."""

from __future__ import annotations

import httpx
import pytest

from tests.control.rest_connect.station import SOURCE


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
