"""Tasks and what each of them is told."""

from __future__ import annotations

import httpx

from heliograph.control.running_mirror import RunningMirror
from heliograph.model import Assignment, TopicPartition
from tests.control.rest_connect.station import HEARTBEAT, SOURCE


class _Plan:
    """Two lanes."""

    lanes = ([Assignment(TopicPartition("t", number), TopicPartition("a.t", number)) for number in (0, 2)], [])


def test_each_lane_is_a_task_that_knows_its_partitions(mirror: RunningMirror, client: httpx.Client) -> None:
    assert client.get(f"{SOURCE}/tasks").json() == []
    driver = mirror.drivers()[0]
    driver._plan = _Plan()  # type: ignore[assignment]
    config = client.get(f"{SOURCE}/config").json()
    first, second = client.get(f"{SOURCE}/tasks").json()
    assert first["id"] == {"connector": "MirrorSourceConnector", "task": 0}
    assert first["config"] == {
        **config,
        "task.class": "org.apache.kafka.connect.mirror.MirrorSourceTask",
        "task.index": "0",
        "task.assigned.partitions": "t-0,t-2",
    }
    assert second["id"]["task"] == 1
    assert client.get(f"{SOURCE}/tasks/1/status").json()["id"] == 1
    for number in ("2", "-1", "x", "٣"):
        assert client.get(f"{SOURCE}/tasks/{number}/status").status_code == 404


def test_a_heartbeat_connector_has_one_task_if_heartbeats_are_wanted(client: httpx.Client) -> None:
    assert [task["id"]["task"] for task in client.get(f"{HEARTBEAT}/tasks").json()] == [0]
