"""Conflicts over the API, of decisions in the topics of real clusters; the mirror itself need not run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from heliograph.config.mirror_config import load
from heliograph.conflicts.totals import PassedBy
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from tests.control.conflicts.stage import DecisionTopic, decided, decision_topic, now, remove, write_file
from tests.control.rest.serving import LOOPBACK, TOKENS, token_of
from tests.waiting import wait_until

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]


@dataclass(frozen=True)
class Place:
    """A server, and the decisions of both clusters."""

    mirror: RunningMirror
    root: str
    eu: DecisionTopic
    us: DecisionTopic

    def ask(self, role: str = "operator", **query: str | int) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token_of(role)}"} if role else {}
        with httpx.Client(trust_env=False, timeout=30) as client:
            return client.get(f"{self.root}/api/v1/conflicts", params=query, headers=headers)

    def clusters(self, role: str = "operator", **query: str | int) -> list[dict[str, Any]]:
        answer = self.ask(role, **query)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["clusters"]
        return found


@pytest.fixture
def place(cluster_pair: Pair, tmp_path: Path) -> Iterator[Place]:
    with decision_topic(cluster_pair[0]) as eu, decision_topic(cluster_pair[1]) as us:
        file = write_file(tmp_path, cluster_pair)
        with file.open("a") as lines:
            lines.write(TOKENS)
        mirror = RunningMirror(load(file))
        server = RestServer(mirror, (LOOPBACK,))
        server.start()
        yield Place(mirror, server.addresses[0], eu, us)
        server.stop()


def test_each_cluster_has_its_figures_and_the_newest_decisions(place: Place) -> None:
    at = now()
    place.eu.write(
        decided(at - 3_000_000, b"a"), decided(at - 100_000, b"a"), decided(at, b"\xff", values=(b"\xfe", None))
    )
    place.us.write(decided(at - 3 * 3_600_000, b"long ago"))
    eu, us = place.clusters()
    assert (eu["cluster"], eu["patterns"], eu["resolver"], eu["window_ms"]) == (
        "eu", ["orders"], "last-writer-wins", 5000,
    )  # fmt: skip
    assert (eu["conflicts"], eu["last_minute"], eu["last_ms"], eu["exists"], eu["trouble"]) == (3, 1, at, True, "")
    assert [(item["key"], item["key_encoding"], item["conflicts"]) for item in eu["keys"]] == [
        ("a", "", 2),
        ("/w==", "base64", 1),
    ]
    assert (len(eu["bars"]), sum(bar["conflicts"] for bar in eu["bars"])) == (60, 3)
    newest = eu["decisions"][0]
    assert (newest["topic"], newest["winner"], newest["decided_at_ms"]) == ("orders", "us", at)
    assert [(item["cluster"], item["won"], item["value"], item["value_bytes"]) for item in newest["records"]] == [
        ("eu", False, "/g==", 1),
        ("us", True, None, None),
    ]
    assert [item["timestamp_ms"] for item in newest["records"]] == [at - 8_000, at - 7_700]
    assert (us["conflicts"], us["decisions"], us["last_ms"]) == (0, [], 0)


def test_new_decisions_come_in_and_those_known_are_not_counted_again(place: Place) -> None:
    place.eu.write(decided(now(), b"a"))
    assert place.clusters()[0]["conflicts"] == 1
    place.eu.write(decided(now(), b"b"))
    wait_until(lambda: place.clusters()[0]["conflicts"] == 2, "the second decision", 10)
    assert [item["key"] for item in place.clusters()[0]["decisions"]] == ["b", "a"]


def test_topic_key_and_limit_narrow_keys_and_decisions(place: Place) -> None:
    at = now()
    for key, topic in [(b"a", "orders"), (b"a", "carts"), (b"b", "orders")]:
        place.eu.write(decided(at, key, topic=topic))

    def found(**query: str | int) -> list[tuple[str, str]]:
        cluster = place.clusters(**query)[0]
        named = [(item["topic"], item["key"]) for item in cluster["decisions"]]
        assert sorted(named) == sorted((item["topic"], item["key"]) for item in cluster["keys"])
        assert cluster["conflicts"] == 3
        return named

    assert found() == [("orders", "b"), ("carts", "a"), ("orders", "a")]
    assert found(topic="orders") == [("orders", "b"), ("orders", "a")]
    assert found(key="a", topic="carts") == [("carts", "a")]
    assert found(key="a", topic="none") == []
    assert len(place.clusters(limit=1)[0]["decisions"]) == 1
    assert place.ask(limit=0).status_code == 400


def test_what_records_say_is_for_operators(place: Place) -> None:
    place.eu.write(decided(now(), b"a", values=(b"secret", b"x" * 5_000)))
    place.eu.write(decided(now(), b"b", values=(b"secret", b"x"), winner=None))
    assert place.ask("").status_code == 401
    answer = place.ask("viewer")
    assert answer.json()["shows_values"] is False
    assert "secret" not in answer.text
    merged, single = answer.json()["clusters"][0]["decisions"]
    assert (merged["winner"], merged["merged"]) == (None, None)
    assert [record["value_bytes"] for record in single["records"]] == [6, 5_000]
    shown = place.ask("operator").json()
    merged, single = shown["clusters"][0]["decisions"]
    assert (shown["shows_values"], merged["merged"]) == (True, "merged")
    assert [len(record["value"]) for record in single["records"]] == [6, 2_000]


def test_of_very_many_records_the_winner_is_always_listed(place: Place) -> None:
    place.eu.write(decided(now(), values=[b"v"] * 31, origins=["eu", "us"] * 15 + ["ap"], winner=30))
    [decision] = place.clusters()[0]["decisions"]
    assert (len(decision["records"]), decision["left_out"]) == (20, 11)
    assert [record["cluster"] for record in decision["records"] if record["won"]] == ["ap"]


def test_what_was_too_long_to_be_told_is_counted(place: Place) -> None:
    half = b"x" * (300 * 1024)
    place.eu.write(decided(now(), values=(half, half)))
    place.eu.write(decided(now(), values=[b"v"] * 250, origins=["eu", "us"] * 125, winner=249))
    many, long = place.clusters()[0]["decisions"]
    assert (long["values_omitted"], long["records"][0]["value_bytes"]) == (1, None)
    assert (len(many["records"]), many["left_out"], many["values_omitted"]) == (20, 230, 0)


def test_how_detection_gets_on_is_told(place: Place) -> None:
    totals = place.mirror.conflicts["us"].totals
    totals.records, totals.late, totals.waiting, totals.trouble = 700, 3, 2, "no broker answers"
    totals.watermark_ms = now() - 9_000
    totals.pass_by([PassedBy(TopicPartition("orders", 2), 7, 9, "it fails its checksum")])
    detection = place.clusters()[1]["detection"]
    assert (detection["records"], detection["late"], detection["trouble"]) == (700, 3, "no broker answers")
    assert 9 <= detection["delay_seconds"] < 30
    passed = ["orders-2: offsets 7 to 9 passed by: it fails its checksum"]
    assert (detection["unreadable"], detection["passed_by"]) == (3, passed)


def test_a_topic_that_is_not_there_yet_is_no_error(place: Place, primary: EmbeddedCluster) -> None:
    remove(primary)
    eu, us = place.clusters()
    assert (eu["exists"], eu["trouble"], us["exists"]) == (False, "", True)


def test_without_detection_nobody_is_asked(tmp_path: Path) -> None:
    from tests.control.rest.serving import serving

    with serving(tmp_path, TOKENS) as served:
        answer = served.request("GET", "/api/v1/conflicts", "viewer")
        assert (answer.status_code, answer.json()["clusters"]) == (200, [])


def test_a_cluster_that_does_not_answer_is_told_beside_the_other(tmp_path: Path) -> None:
    from tests.control.rest.serving import serving

    lines = "b->a.enabled = true\nconflicts.topics = orders\nrequest.timeout.ms = 500\n"
    with serving(tmp_path, TOKENS + lines) as served:
        answer = served.request("GET", "/api/v1/conflicts", "viewer", timeout=30)
        assert answer.status_code == 200
        assert [bool(item["trouble"]) for item in answer.json()["clusters"]] == [True, True]
