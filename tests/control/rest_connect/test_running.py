"""A mirror that runs does as it is told over Kafka Connect's REST, at once, and loses nothing."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.chaos.load import Load
from tests.chaos.stage import await_growth, ends
from tests.control.rest_connect.station import CHECKPOINT, HEARTBEAT, SOON, SOURCE, Station, put, states
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_pause_resume_stop_and_restart_act_at_once_and_lose_nothing(station: Station) -> None:
    with station.load(station.topic) as load:
        with station.running() as client:
            await_growth(station.target, station.copy(station.topic))
            assert put(client, f"{SOURCE}/pause").status_code == 202
            _expect_standstill(station, load)
            assert states(client, SOURCE) == ("PAUSED", ["PAUSED"])
            assert states(client, HEARTBEAT) == ("RUNNING", ["RUNNING"])
            _expect_going_on(station, client)
            put(client, f"{SOURCE}/pause")
            rest = _expect_standstill(station, load)
        with station.running() as client:
            assert states(client, SOURCE)[0] == "PAUSED"
            assert station.ends() == rest
            put(client, f"{SOURCE}/resume")
            await_growth(station.target, station.copy(station.topic))
            assert put(client, f"{SOURCE}/stop").status_code == 204
            _expect_standstill(station, load)
            assert states(client, SOURCE) == ("STOPPED", [])
            _expect_going_on(station, client)
            assert client.post(f"{SOURCE}/restart").status_code == 204
            wait_until(lambda: states(client, SOURCE) == ("RUNNING", ["RUNNING"]), "a restarted connector", 30)
            await_growth(station.target, station.copy(station.topic))
            load.stop()
            station.expect_equal(station.topic, load.acknowledged)


def _expect_standstill(station: Station, load: Load) -> dict[object, int]:
    written = load.acknowledged
    rest = station.await_rest()
    assert load.acknowledged > written
    return dict(rest)


def _expect_going_on(station: Station, client: httpx.Client) -> None:
    rest, began = station.ends(), time.monotonic()
    assert put(client, f"{SOURCE}/resume").status_code == 202
    wait_until(lambda: station.ends() != rest, "records again", 30)
    assert time.monotonic() - began < SOON
    wait_until(lambda: states(client, SOURCE) == ("RUNNING", ["RUNNING"]), "a running connector")


def test_settings_take_effect_without_a_restart_and_outlive_one(station: Station) -> None:
    both = f"{station.topic}, {station.other}"
    with station.load(station.topic) as first, station.load(station.other) as second:
        with station.running() as client:
            await_growth(station.target, station.copy(station.topic))
            assert not ends(station.target, station.copy(station.other))
            began = time.monotonic()
            answer = client.patch(f"{SOURCE}/config", json={"topics": both})
            assert answer.status_code == 200
            assert answer.json()["config"]["topics"] == both
            wait_until(lambda: bool(ends(station.target, station.copy(station.other))), "the second topic", 30)
            assert time.monotonic() - began < 10
            config = client.get(f"{CHECKPOINT}/config").json()
            put(client, f"{CHECKPOINT}/config", {**config, "tasks.max": 2, "emit.checkpoints.interval.seconds": "7"})
            wait_until(lambda: len(client.get(f"{SOURCE}/tasks").json()) == 2, "a second lane", 20)
            [flow] = [item for item in client.get("/api/v1/flows").json() if item["name"] == station.name]
            [chore] = [
                item
                for item in client.get(f"/api/v1/flows/{flow['name']}").json()["chores"]
                if item["name"] == "checkpoints"
            ]
            assert chore["seconds"] == 7
            changed = client.get(f"{SOURCE}/config").json()
            too_many = client.patch(f"{SOURCE}/config", json={"tasks.max": "100000"})
            assert (too_many.status_code, "tasks.max" in too_many.text) == (400, True)
        with station.running() as client:
            assert client.get(f"{SOURCE}/config").json() == changed
            wait_until(lambda: len(client.get(f"{SOURCE}/tasks").json()) == 2, "two lanes", 30)
            first.stop()
            second.stop()
            station.expect_equal(station.topic, first.acknowledged)
            station.expect_equal(station.other, second.acknowledged)


def test_a_map_that_is_put_back_as_it_was_shown_changes_nothing(station: Station) -> None:
    with station.running() as client:
        shown = client.get(f"{SOURCE}/config").json()
        lanes = client.get(f"/api/v1/flows/{station.name}").json()["chores"]
        put(client, f"{SOURCE}/config", shown)
        put(client, f"{SOURCE}/config", {**shown, "offset.lag.max": "5"})
        put(client, f"{SOURCE}/config", shown)
        assert client.get(f"{SOURCE}/config").json() == shown
        assert len(lanes) == len(client.get(f"/api/v1/flows/{station.name}").json()["chores"])


def test_changed_positions_are_where_a_connector_resumes(station: Station) -> None:
    """At once after `stop`: the last commits of the lanes must not overtake what is written."""
    with station.load(station.topic) as load:
        wait_until(lambda: load.acknowledged >= 200, "some records")
    with station.running() as client:
        station.expect_equal(station.topic, load.acknowledged)
        done = _positions(client)
        assert set(done) == {0, 1}
        whole = {number: last + 1 for number, last in done.items()}
        steps = [
            ([{"partition": station.place(0), "offset": {"offset": done[0] - 10}}], {0: 10, 1: 0}),
            ([{"partition": station.place(1), "offset": None}], {0: 0, 1: whole[1]}),
            (None, whole),
        ]
        for changes, again in steps:
            before = station.counts()
            put(client, f"{SOURCE}/stop")
            _change_positions(client, changes)
            assert put(client, f"{SOURCE}/resume").status_code == 202
            wanted = {number: before[number] + more for number, more in again.items()}
            wait_until(lambda wanted=wanted: station.counts() == wanted, f"{again} records once more", 30)  # type: ignore[misc]
            wait_until(lambda: _positions(client) == done, "the old positions again", 10)
            assert station.counts() == wanted


def _change_positions(client: httpx.Client, changes: list[dict[str, Any]] | None) -> None:
    before = _positions(client)
    offsets = f"{SOURCE}/offsets"
    answer = client.delete(offsets) if changes is None else client.patch(offsets, json={"offsets": changes})
    assert answer.is_success, answer.text
    assert list(answer.json()) == ["message"]
    assert _positions(client) != before


def _positions(client: httpx.Client) -> dict[int, int]:
    found = client.get(f"{SOURCE}/offsets").json()["offsets"]
    assert all(set(item["offset"]) == {"offset"} for item in found)
    return {item["partition"]["partition"]: item["offset"]["offset"] for item in found}


def test_lag_is_told_from_changed_positions_on(station: Station) -> None:
    with station.load(station.topic) as load:
        wait_until(lambda: load.acknowledged >= 100, "some records")
    with station.running() as client:
        station.expect_equal(station.topic, load.acknowledged)
        wait_until(lambda: _lag(client, station) == 0, "no lag", 20)
        put(client, f"{SOURCE}/stop")
        _change_positions(client, None)
        wait_until(lambda: _lag(client, station) == load.acknowledged, "all records to be copied again", 20)


def _lag(client: httpx.Client, station: Station) -> int:
    return int(client.get(f"/api/v1/flows/{station.name}").json()["lag_records"])


def test_positions_that_are_forgotten_under_load_right_after_a_stop_stay_forgotten(station: Station) -> None:
    with station.load(station.topic) as load, station.running() as client:
        await_growth(station.target, station.copy(station.topic))
        put(client, f"{SOURCE}/stop")
        assert client.delete(f"{SOURCE}/offsets").is_success
        station.await_rest()
        assert _positions(client) == {}
        load.stop()
        before = sum(station.counts().values())
        put(client, f"{SOURCE}/resume")
        wait_until(lambda: sum(station.counts().values()) == before + load.acknowledged, "all records once more", 30)
