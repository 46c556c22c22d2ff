"""Which connectors there are, and by what names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.control.rest_connect.station import at_rest

_PLAIN = ["MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector"]
_ONE_WAY = {
    "clusters": "a, b",
    "a.bootstrap.servers": "127.0.0.1:1",
    "b.bootstrap.servers": "127.0.0.1:2",
    "a->b.enabled": "true",
}
_BOTH_WAYS = {**_ONE_WAY, "b->a.enabled": "true"}


def test_the_only_enabled_flow_has_plain_names_and_heartbeats_of_others_a_prefix(tmp_path: Path) -> None:
    with at_rest(tmp_path, _ONE_WAY) as client:
        assert client.get("/connectors").json() == [*_PLAIN, "b->a.MirrorHeartbeatConnector"]
        assert client.get(f"/connectors/{quote('b->a.MirrorHeartbeatConnector')}").status_code == 200
        for name in ("b->a.MirrorSourceConnector", "a->b.MirrorSourceConnector", "MirrorSinkConnector"):
            assert client.get(f"/connectors/{quote(name)}").status_code == 404


def test_several_enabled_flows_have_prefixed_names_only(tmp_path: Path) -> None:
    with at_rest(tmp_path, _BOTH_WAYS) as client:
        expected = [f"{flow}.{name}" for flow in ("a->b", "b->a") for name in _PLAIN]
        assert client.get("/connectors").json() == expected
        assert client.get("/connectors/MirrorSourceConnector").status_code == 404
        for name in expected:
            answer = client.get(f"/connectors/{quote(name)}").json()
            assert answer["name"] == answer["config"]["name"] == name
            assert answer["config"]["source.cluster.alias"] == name[0]


@pytest.mark.parametrize("file", [_ONE_WAY, _BOTH_WAYS])
def test_below_its_clusters_every_flow_has_plain_names(tmp_path: Path, file: dict[str, str]) -> None:
    with at_rest(tmp_path, file) as client:
        assert client.get("/a/b/connectors").json() == _PLAIN
        back = _PLAIN if "b->a.enabled" in file else _PLAIN[2:]
        assert client.get("/b/a/connectors").json() == back
        assert client.get("/b/a/connectors/MirrorHeartbeatConnector/status").json()["connector"]["state"] == "RUNNING"
        config = client.get("/a/b/connectors/MirrorSourceConnector/config").json()
        assert (config["name"], config["target.cluster.alias"]) == ("MirrorSourceConnector", "b")


def test_a_flow_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with at_rest(tmp_path, _ONE_WAY) as client:
        for path in ("/a/c/connectors", "/x/y/connectors/MirrorSourceConnector/status"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["error_code"]) == (404, 404)
        assert client.put("/a/c/connectors/MirrorSourceConnector/pause").status_code == 404


def test_connectors_are_neither_created_nor_deleted_here(tmp_path: Path) -> None:
    with at_rest(tmp_path, _ONE_WAY) as client:
        answers = [
            client.post("/connectors", json={"name": "new", "config": {}}),
            client.put("/connectors/new/config", json={"connector.class": "MirrorSourceConnector"}),
            client.delete("/connectors/MirrorSourceConnector"),
        ]
        for answer in answers:
            assert answer.status_code == 405
            assert "configuration file" in answer.json()["message"]
        taken = client.post("/connectors", json={"name": "MirrorSourceConnector", "config": {}})
        assert taken.status_code == 409
        assert len(client.get("/connectors").json()) == 4
