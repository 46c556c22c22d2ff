"""`heliograph conflicts` on real clusters: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from tests.control.conflicts.stage import DecisionTopic, decided, decision_topic, now, remove, write_file

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]
LONG_AGO = 600_000


@dataclass(frozen=True)
class Scene:
    """Two clusters that look for conflicts, and their decisions."""

    file: Path
    eu: DecisionTopic
    us: DecisionTopic

    def both(self, at_ms: int, key: bytes = b"order-7", **more: Any) -> None:
        """Both clusters make the same decision, each in its own way."""
        self.eu.write(decided(at_ms, key, on="eu", written_ms=at_ms - 8_000, **more))
        self.us.write(decided(at_ms + 900, key, on="us", written_ms=at_ms - 8_000, **more))


@pytest.fixture
def scene(cluster_pair: Pair, tmp_path: Path) -> Iterator[Scene]:
    with decision_topic(cluster_pair[0]) as eu, decision_topic(cluster_pair[1]) as us:
        yield Scene(write_file(tmp_path, cluster_pair), eu, us)


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["conflicts", *map(str, arguments)])
    return int(ended.value.code or 0)


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, Any]:
    code = run(*arguments, "-o", "json")
    return code, json.loads(capsys.readouterr().out)


def test_each_cluster_tells_its_figures_and_both_agree(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    at = now()
    for age in (LONG_AGO, 500_000, 400_000):
        scene.both(at - age)
    scene.both(at - 300_000, b"order-8", winner=0)
    scene.both(at - 5 * 3_600_000, b"too old")
    code, result = told(capsys, scene.file)
    assert code == 0
    assert [item["cluster"] for item in result["clusters"]] == ["eu", "us"]
    for item in result["clusters"]:
        assert (item["is_on"], item["exists"], item["trouble"], item["unreadable"]) == (True, True, None, 0)
        assert (item["conflicts"], item["last_hour"], item["last_minute"]) == (4, 4, 0)
        assert item["per_minute"] == pytest.approx(4 / 60, rel=0.1)
        assert item["topics"] == [{"name": "orders", "conflicts": 4, "is_exact": True}]
        assert [(key["key"], key["conflicts"]) for key in item["keys"]] == [("order-7", 3), ("order-8", 1)]
        assert [(one["name"], one["conflicts"]) for one in item["winners"]] == [("us", 3), ("eu", 1)]
        assert [one["key"] for one in item["decisions"]] == ["order-8", "order-7", "order-7", "order-7"]
    newest = result["clusters"][0]["decisions"][0]
    assert (newest["winner"], newest["value"], newest["topic"]) == ("orders", "one", "orders")
    assert (result["agreement"]["is_equal"], result["agreement"]["agreed"]) == (True, 4)


def test_people_see_the_records_side_by_side_with_the_winner_marked(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.both(now() - LONG_AGO, values=(b'{"total": 1}', b"[red]\x1b[31m" + b"z" * 300))
    assert run(scene.file, "--cluster", "eu") == 0
    lines = capsys.readouterr().out.splitlines()
    shown = {line.split()[0]: line for line in lines if line.split()}
    assert "1 conflicts since" in lines[0]
    assert "0.02 a minute" in lines[0]
    assert "the last 10 min ago" in lines[0]
    assert any("█" in line for line in lines)
    assert shown["cluster"].split() == ["cluster", "eu", "us", "(won)"]
    assert "(+300 ms)" in shown["written"]
    assert shown["offset"].split() == ["offset", "orders-0", "40", "us.orders-0", "41"]
    assert '{"total": 1}' in shown["value"]
    assert "[red]·[31mzzz" in shown["value"]
    assert shown["value"].rstrip().endswith("z…")
    assert len(shown["value"]) < 200


def test_a_merge_has_no_winner_and_many_records_are_cut_but_never_the_winner(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    at = now()
    scene.eu.write(decided(at, winner=None, rule="crdt", values=(None, b"x")))
    assert run(scene.file, "--cluster", "eu") == 0
    shown = capsys.readouterr().out
    assert "merged into merged" in shown
    assert "(deleted)" in shown
    assert "(won)" not in shown
    scene.eu.write(decided(at, values=[b"v"] * 9, origins=["eu", "us"] * 4 + ["ap"], winner=8))
    assert run(scene.file, "--cluster", "eu", "--limit", "1") == 0
    shown = capsys.readouterr().out
    assert "ap (won)" in shown
    assert "and 5 more records" in shown


def test_what_was_too_long_to_be_told_is_not_taken_for_a_deletion(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    half = b"x" * (300 * 1024)
    scene.eu.write(decided(now(), values=(half, half)))
    assert run(scene.file, "--cluster", "eu") == 0
    shown = capsys.readouterr().out
    assert "(deleted, or too long to be told)" in shown
    scene.eu.write(decided(now(), values=[b"v"] * 250, origins=["eu", "us"] * 125, winner=249))
    assert run(scene.file, "--cluster", "eu", "--limit", "1") == 0
    assert "and 246 more records" in capsys.readouterr().out


def test_topic_key_time_and_limit_narrow_it(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    at = now()
    for age, key, topic in [(7_000_000, b"a", "orders"), (60_000, b"a", "orders"), (50_000, b"\xff", "carts")]:
        scene.eu.write(decided(at - age, key, topic=topic))

    def count(*arguments: str) -> int:
        code, result = told(capsys, scene.file, "--cluster", "eu", *arguments)
        assert code == 0
        return int(result["clusters"][0]["conflicts"])

    assert count() == 2
    assert count("--since", "2h") == 3
    assert count("--since", "2h", "--topic", "orders") == 2
    assert count("--topic", "orders") == 1
    assert count("--key", "/w==") == 1
    assert count("--key", "a", "--topic", "carts") == 0
    _, result = told(capsys, scene.file, "--cluster", "eu", "--limit", "1")
    assert len(result["clusters"][0]["keys"]) == len(result["clusters"][0]["decisions"]) == 1


def test_what_is_open_or_aborted_is_not_shown(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.eu.write(decided(now()), commit=False)
    assert run(scene.file, "--cluster", "eu") == 0
    assert "eu: no conflicts since" in capsys.readouterr().out


def test_where_detection_is_off_it_says_how_to_turn_it_on(
    cluster_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cluster in cluster_pair:
        remove(cluster)
    assert run(write_file(tmp_path, cluster_pair, topics="")) == 0
    shown = capsys.readouterr().out
    assert "eu: detection is off" in shown
    assert "us.conflicts.topics" in shown
    assert run(write_file(tmp_path, cluster_pair)) == 0
    assert "eu: there is no topic conflict-resolutions yet: conflicts.topics is set" in capsys.readouterr().out


def test_decisions_of_earlier_are_shown_although_detection_is_off_now(
    scene: Scene, cluster_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.eu.write(decided(now()))
    code, result = told(capsys, write_file(tmp_path, cluster_pair, topics=""))
    assert (code, result["agreement"]) == (0, None)
    assert [(item["is_on"], item["conflicts"]) for item in result["clusters"]] == [(False, 1), (False, 0)]


def test_clusters_that_differ_end_with_4_and_both_sides_are_listed(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    at = now() - LONG_AGO
    scene.both(at, b"alike")
    scene.eu.write(decided(at, b"apart", winner=1))
    scene.us.write(decided(at, b"apart", on="us", winner=0))
    scene.eu.write(decided(at - 1, b"alone"), decided(now(), b"young"))
    code, result = told(capsys, scene.file, "--compare")
    assert code == 4
    agreement = result["agreement"]
    assert (agreement["is_equal"], agreement["agreed"], agreement["under_way"]) == (False, 1, 1)
    assert [(item["kind"], list(item["decisions"])) for item in agreement["differences"]] == [
        ("different", ["eu", "us"]),
        ("missing", ["eu"]),
    ]
    assert run(scene.file, "--compare") == 4
    shown = capsys.readouterr().out
    assert "eu and us DIFFER in 2: 1 conflicts settled alike, 1 too young to tell" in shown
    assert "missing: us: has not decided" in shown
    assert run(scene.file) == 0
    assert "eu and us DIFFER in 2" in capsys.readouterr().out
    assert run(scene.file, "--compare", "--key", "alike") == 0
    assert "eu and us agree: 1 conflicts settled alike" in capsys.readouterr().out


def test_a_cluster_that_does_not_answer_ends_with_1_and_the_other_is_shown(
    scene: Scene, cluster_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.eu.write(decided(now() - LONG_AGO))
    [nobody] = free_ports(1)
    file = write_file(
        tmp_path, cluster_pair, {"us.bootstrap.servers": f"127.0.0.1:{nobody}", "us.request.timeout.ms": "1000"}
    )
    code, result = told(capsys, file)
    assert (code, result["agreement"]) == (1, None)
    eu, us = result["clusters"]
    assert (eu["conflicts"], eu["trouble"], us["conflicts"]) == (1, None, 0)
    assert "us" in us["trouble"]
    assert told(capsys, file, "--compare")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--since", "soon"], "soon is no time such as 30m"),
        (["--cluster", "mars"], "there is no cluster mars; clusters are eu, us"),
        (["--compare", "--watch"], "--compare looks once"),
        (["--compare", "--cluster", "eu"], "--compare takes two clusters"),
        (["--limit", "0"], "greater than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(
    cluster_pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert run(write_file(tmp_path, cluster_pair), *arguments) == 2
    said = " ".join(capsys.readouterr().err.replace("│", "").split())
    assert complaint in said


def test_watching_shows_what_comes_until_it_is_ended(scene: Scene) -> None:
    command = [sys.executable, "-m", "heliograph", "conflicts", str(scene.file), "--watch", "-o", "yaml"]
    scene.eu.write(decided(now(), b"first"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            counts: list[int] = []
            document = ""
            for line in process.stdout:
                if line != "---\n":
                    document += line
                    continue
                if document:
                    counts.append(yaml.safe_load(document)["clusters"][0]["conflicts"])
                    document = ""
                if counts == [1]:
                    scene.eu.write(decided(now(), b"second"))
                if 2 in counts:
                    break
            assert counts[0] == 1
            assert counts[-1] == 2
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(20)
    assert code == 130
