from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from tests.chaos.stage import admin_of, ends, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_COUNT = 50
_GROUP = fresh_name("readers")


class Place:
    """A mirror of one topic with two partitions, and its API."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> None:
        self.source, self.target = source, target
        self.topic, self.alias = fresh_name("shown"), fresh_name("api")
        self.flow = f"{self.alias}->backup"
        file = folder / "mm2.properties"
        options = {
            f"{self.flow}.topics": self.topic,
            "groups": _GROUP,
            "heartbeats.replication.enabled": "false",  # other tests may have left some on the clusters
            "refresh.groups.interval.seconds": "1",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            **{f"{name}.topic.replication.factor": "1" for name in ("checkpoints", "offset-syncs", "heartbeats")},
            "config.storage.replication.factor": "1",
            f"{self.alias}.sasl.jaas.config": "canary-of-a-secret",
        }
        write_settings(file, {self.alias: source, "backup": target}, [self.flow], options)
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(self.topic, 2, 1)])
        self.write(_COUNT)
        with Groups(Access("primary", source.bootstrap_servers.split(","))) as groups:
            groups.commit({_GROUP: {TopicPartition(self.topic, 0): Committed(7, "")}})
        self.mirror = RunningMirror(load(file))
        self.server = RestServer(self.mirror, ["http://127.0.0.1:0"])

    def write(self, count: int) -> None:
        """So many records into each partition."""
        with Writer(Access("primary", self.source.bootstrap_servers.split(","))) as writer:
            for number in range(2):
                now = int(time.time() * 1000)
                writer.append(TopicPartition(self.topic, number), [Record(0, now, b"k", b"v" * 100)] * count)

    def get(self, path: str) -> Any:
        """What the API answers."""
        answer = httpx.get(f"{self.server.addresses[0]}/api/v1{path}", timeout=30)
        assert answer.status_code == 200, answer.text
        assert "canary" not in answer.text
        return answer.json()

    def of_flow(self, path: str = "") -> Any:
        """What it answers about the flow."""
        return self.get(f"/flows/{self.flow.replace('>', '%3E')}{path}")

    def await_all(self, count: int) -> None:
        """Wait until so many records of each partition are mirrored, and the API knows."""

        def is_known() -> bool:
            found = self.of_flow("/partitions")
            return [item["mirrored_to"] for item in found] == [count - 1] * 2 and self.of_flow()["lag_records"] == 0

        wait_until(is_known, f"{count} records a partition", 60, 0.2)


@pytest.fixture(scope="module")
def place(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A mirror that has copied what there was."""
    made = Place(primary, backup, tmp_path_factory.mktemp("api"))
    made.server.start()
    made.mirror.start()
    try:
        made.await_all(_COUNT)
        yield made
    finally:
        made.mirror.stop()
        made.server.stop()


def test_the_process_and_its_caller(place: Place) -> None:
    found = place.get("/mirror")
    assert found["is_ready"] is True
    assert found["flows"] == [place.flow]
    assert found["caller"]["role"] == "admin"
    assert found["started_at_ms"] <= found["now_ms"]


def test_clusters_and_flows(place: Place) -> None:
    found = place.get("/topology")
    assert [(item["alias"], item["bootstrap_servers"]) for item in found["clusters"]] == [
        (place.alias, place.source.bootstrap_servers.split(",")),
        ("backup", place.target.bootstrap_servers.split(",")),
    ]
    assert found["flows"][0]["name"] == place.get("/flows")[0]["name"] == place.flow


def test_a_flow_with_lanes_and_chores(place: Place) -> None:
    wait_until(lambda: place.of_flow()["health"] == "up to date", "a healthy flow", 30)
    found = place.of_flow()
    assert found["is_good"] is True
    assert (found["source"], found["target"], found["partitions"]) == (place.alias, "backup", 2)
    assert found["owner"] == place.mirror.drivers()[0].owner
    copied = [item for lane in found["lane_states"] for item in lane["partitions"]]
    assert sorted(item["partition"] for item in copied) == [0, 1]
    chores = {item["name"]: item for item in found["chores"]}
    assert chores["group offsets"]["connector"] == "MirrorCheckpointConnector"
    assert not any(item["failure"] for item in chores.values())


def test_counts_are_those_of_the_records(place: Place) -> None:
    found = place.of_flow("/partitions")
    written = ends(place.source, place.topic)
    assert {item["partition"]: (item["end"], item["records"]) for item in found} == {
        where.partition: (end, end) for where, end in written.items()
    }
    [topic] = place.of_flow("/topics")
    assert (topic["topic"], topic["target_topic"]) == (place.topic, f"{place.alias}.{place.topic}")
    assert topic["records"] == sum(written.values()) == place.of_flow()["records_total"]
    assert topic["bytes"] == sum(item["bytes"] for item in found) == place.of_flow()["bytes_total"] > 0


def test_the_ledger_names_every_offset_once(place: Place) -> None:
    for number in range(2):
        ranges = place.of_flow(f"/ledger?topic={place.topic}&partition={number}&limit=1000")
        offsets = [item["source_offset"] + step for item in ranges for step in range(item["length"])]
        assert sorted(offsets) == list(range(ends(place.source, place.topic)[TopicPartition(place.topic, number)]))
    newest = place.of_flow(f"/ledger?topic={place.topic}&partition=0&limit=1")
    assert [newest[0]["source_offset"] + newest[0]["length"]] == [max(offsets) + 1]


def test_groups_stand_on_both_sides(place: Place) -> None:
    wait_until(
        lambda: bool(place.of_flow("/groups")["groups"][0]["partitions"][0]["target_offset"]), "a group there", 30
    )
    [group] = place.of_flow("/groups")["groups"]
    [item] = group["partitions"]
    assert group["group"] == _GROUP
    assert (item["source_offset"], item["translated_offset"], item["target_offset"], item["is_exact"]) == (
        7,
        7,
        7,
        True,
    )
    assert item["source_lag"] == ends(place.source, place.topic)[TopicPartition(place.topic, 0)] - 7


def test_the_plan_says_what_is_left_out_and_why(place: Place) -> None:
    found = place.of_flow("/plan")
    [mirrored] = [item for item in found["topics"] if item["topic"] == place.topic]
    assert mirrored == {
        "topic": place.topic,
        "target_topic": f"{place.alias}.{place.topic}",
        "partitions": 2,
        "state": "mirrored",
    }
    assert all(item["reason"] for item in found["left_out"])


def test_settings_are_explained_and_secrets_hidden(place: Place) -> None:
    found = {(item["group"], item["name"]): item for item in place.of_flow("/config")}
    topics = found[f"flow {place.flow}", "topics"]
    assert (topics["value"], topics["origin"]) == (place.topic, "file")
    assert topics["line"]
    assert topics["doc"]


def test_a_flow_is_paused_and_goes_on(place: Place) -> None:
    address = f"{place.server.addresses[0]}/api/v1/flows/{place.flow.replace('>', '%3E')}/state"
    paused = httpx.put(address, json={"state": "PAUSED"}, timeout=30)
    assert paused.status_code == 200, paused.text
    assert set(paused.json()["states"].values()) == {"PAUSED"}
    assert paused.json()["health"] == "paused"
    before = ends(place.source, place.topic)[TopicPartition(place.topic, 0)]
    place.write(10)
    wait_until(lambda: place.of_flow()["lag_records"] == 20, "a lag of what was written meanwhile", 30)
    wait_until(lambda: place.of_flow("/history")[-1]["lag_records"] == 20, "a point with that lag", 30)
    assert httpx.put(address, json={"state": "RUNNING"}, timeout=30).status_code == 200
    place.await_all(before + 10)
    points = place.of_flow("/history")
    assert [point["at_ms"] for point in points] == sorted(point["at_ms"] for point in points)
    assert 20 in [point["lag_records"] for point in points]
    wait_until(lambda: place.of_flow("/history")[-1]["lag_records"] == 0, "a level point", 15)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/flows/nobody", 404),
        ("/flows/{flow}/ledger?topic=none&partition=0", 404),
        ("/flows/{flow}/ledger?topic=t", 400),
        ("/flows/{flow}/ledger?topic=t&partition=-1", 400),
        ("/flows/{flow}/nothing", 404),
    ],
)
def test_wrong_questions_get_a_clear_answer(place: Place, path: str, code: int) -> None:
    answer = httpx.get(f"{place.server.addresses[0]}/api/v1{path.format(flow=place.flow)}", timeout=30)
    assert answer.status_code == code, answer.text
    assert answer.json()["error_code"] == code
    assert answer.json()["message"]


def test_openapi_describes_every_route(place: Place) -> None:
    paths = place.get("/openapi.json")["paths"]
    parts = ("", "/partitions", "/topics", "/history", "/groups", "/events", "/ledger", "/plan", "/config", "/state")
    assert {f"/api/v1/flows/{{name}}{part}" for part in parts} <= set(paths)
