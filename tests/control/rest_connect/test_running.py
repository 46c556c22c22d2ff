"""A mirror that runs does as it is told over Kafka Connect's REST, at once, and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, ends
from tests.control.rest_connect.station import CHECKPOINT, HEARTBEAT, SOURCE, Station, put, states
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_BOTH_RUN = ("RUNNING", ["RUNNING"])


@pytest.fixture(scope="module")
def station(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Station]:
    """A mirror that runs."""
    station = Station(primary, backup, tmp_path_factory.mktemp("station"))
    try:
        station.start()
        yield station
    finally:
        station.stop()


def test_pause_resume_stop_and_restart_act_at_once_and_lose_nothing(station: Station) -> None:
    way = station.paused
    with way.load() as load, station.client(way) as client:

        def tell(verb: str, code: int = 202) -> None:
            assert put(client, f"{SOURCE}/{verb}").status_code == code

        def expect_going_on(pause: str, code: int) -> None:
            station.expect_quick_resumption(way, lambda: tell("resume"), lambda: tell(pause, code))
            wait_until(lambda: states(client, SOURCE) == _BOTH_RUN, "a running connector", PATIENCE_SECONDS)

        way.await_growth()
        station.expect_quick_rest(way, lambda: tell("pause"), lambda: tell("resume"))
        way.expect_standstill(load)
        assert states(client, SOURCE) == ("PAUSED", ["PAUSED"])
        assert states(client, HEARTBEAT) == _BOTH_RUN
        expect_going_on("pause", 202)
        way.await_growth()
        station.expect_quick_rest(way, lambda: tell("stop", 204), lambda: tell("resume"))
        way.expect_standstill(load)
        assert states(client, SOURCE) == ("STOPPED", [])
        expect_going_on("stop", 204)
        assert client.post(f"{SOURCE}/restart").status_code == 204
        wait_until(lambda: states(client, SOURCE) == _BOTH_RUN, "a restarted connector", PATIENCE_SECONDS)
        way.await_growth()
        load.stop()
        station.expect_equal(way, way.topic, load.acknowledged)


def test_a_map_that_is_put_back_as_it_was_shown_changes_nothing(station: Station) -> None:
    way = station.changed
    with station.client(way) as client:
        shown = client.get(f"{SOURCE}/config").json()
        chores = station.detail(way)["chores"]
        put(client, f"{SOURCE}/config", shown)
        put(client, f"{SOURCE}/config", {**shown, "offset.lag.max": "5"})
        put(client, f"{SOURCE}/config", shown)
        assert client.get(f"{SOURCE}/config").json() == shown
        assert len(chores) == len(station.detail(way)["chores"])


def test_settings_take_effect_without_a_restart(station: Station) -> None:
    way = station.changed
    both = f"{way.topic}, {way.other}"
    with way.load() as first, way.load(way.other) as second, station.client(way) as client:
        way.await_growth()
        assert not ends(way.target, way.copy(way.other))
        answer = client.patch(f"{SOURCE}/config", json={"topics": both})
        assert answer.status_code == 200
        assert answer.json()["config"]["topics"] == both
        wait_until(lambda: bool(ends(way.target, way.copy(way.other))), "the second topic", RECOVERY_SECONDS)
        config = client.get(f"{CHECKPOINT}/config").json()
        put(client, f"{CHECKPOINT}/config", {**config, "tasks.max": 2, "emit.checkpoints.interval.seconds": "7"})
        _await_two_lanes(client)
        [chore] = [item for item in station.detail(way)["chores"] if item["name"] == "checkpoints"]
        assert chore["seconds"] == 7
        too_many = client.patch(f"{SOURCE}/config", json={"tasks.max": "100000"})
        assert (too_many.status_code, "tasks.max" in too_many.text) == (400, True)
        first.stop()
        second.stop()
    station.expect_equal(way, way.topic, first.acknowledged)
    station.expect_equal(way, way.other, second.acknowledged)


def _await_two_lanes(client: httpx.Client) -> None:
    wait_until(lambda: len(client.get(f"{SOURCE}/tasks").json()) == 2, "a second lane", PATIENCE_SECONDS)


def test_changed_positions_are_where_a_connector_resumes(station: Station) -> None:
    """At once after `stop`: the last commits of the lanes must not overtake what is written."""
    way = station.placed
    with way.load() as load:
        wait_until(lambda: load.acknowledged >= 200, "some records")
    with station.client(way) as client:
        station.expect_equal(way, way.topic, load.acknowledged)
        done = _positions(client)
        assert set(done) == {0, 1}
        whole = {number: last + 1 for number, last in done.items()}
        steps: list[tuple[list[dict[str, Any]] | None, dict[int, int]]] = [
            ([{"partition": way.place(0), "offset": {"offset": done[0] - 10}}], {0: 10, 1: 0}),
            ([{"partition": way.place(1), "offset": None}], {0: 0, 1: whole[1]}),
            (None, whole),
        ]
        for changes, again in steps:
            before = way.counts()
            put(client, f"{SOURCE}/stop")
            _change_positions(client, changes)
            assert put(client, f"{SOURCE}/resume").status_code == 202
            wanted = {number: before[number] + more for number, more in again.items()}
            wait_until(lambda wanted=wanted: way.counts() == wanted, f"{again} records once more", PATIENCE_SECONDS)  # type: ignore[misc]
            wait_until(lambda: _positions(client) == done, "the old positions again")
            assert way.counts() == wanted


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
    way = station.placed
    with way.load() as load:
        wait_until(lambda: load.acknowledged >= 100, "some records")
    written = way.written()
    assert written >= load.acknowledged

    def lag() -> int:
        return int(station.detail(way)["lag_records"])

    with station.client(way) as client:
        wait_until(
            lambda: sum(_positions(client).values()) == written - 2, "all records on the target", PATIENCE_SECONDS
        )
        wait_until(lambda: lag() == 0, "no lag", PATIENCE_SECONDS)
        put(client, f"{SOURCE}/stop")
        _change_positions(client, None)
        wait_until(lambda: lag() == written, "all records to be copied again", PATIENCE_SECONDS)


def test_positions_that_are_forgotten_under_load_right_after_a_stop_stay_forgotten(station: Station) -> None:
    way = station.forgotten
    with way.load() as load, station.client(way) as client:
        way.await_growth()
        put(client, f"{SOURCE}/stop")
        assert client.delete(f"{SOURCE}/offsets").is_success
        station.expect_rest(way)
        way.expect_standstill(load)
        assert _positions(client) == {}
        load.stop()
        before = sum(way.counts().values())
        put(client, f"{SOURCE}/resume")
        wanted = before + load.acknowledged
        wait_until(lambda: sum(way.counts().values()) == wanted, "all records once more", PATIENCE_SECONDS)


def test_all_that_it_was_told_outlives_a_restart(station: Station) -> None:
    paused, changed = station.paused, station.changed
    with paused.load() as still:
        with station.client(paused) as client, station.client(changed) as other:
            paused.await_growth()
            put(client, f"{SOURCE}/pause")
            station.expect_rest(paused)
            rest = paused.expect_standstill(still)
            both = f"{changed.topic}, {changed.other}"
            assert other.patch(f"{SOURCE}/config", json={"topics": both, "tasks.max": "2"}).status_code == 200
            _await_two_lanes(other)
            shown = other.get(f"{SOURCE}/config").json()

        station.restart()

        with station.client(paused) as client, station.client(changed) as other:
            assert states(client, SOURCE)[0] == "PAUSED"
            assert other.get(f"{SOURCE}/config").json() == shown
            _await_two_lanes(other)
            with changed.load() as first, changed.load(changed.other) as second:
                assert paused.expect_standstill(still) == rest
            put(client, f"{SOURCE}/resume")
            paused.await_growth()
        still.stop()
    station.expect_equal(paused, paused.topic, still.acknowledged)
    station.expect_equal(changed, changed.topic, first.acknowledged)
    station.expect_equal(changed, changed.other, second.acknowledged)
