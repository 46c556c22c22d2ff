"""Two clusters, two writers, the real command between them: what is decided, by content."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from tests.active_active.conflict_stage import IDENTITY, ConflictStage
from tests.chaos.forms import LONG
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

Clusters = tuple[EmbeddedCluster, EmbeddedCluster]
NAMES: dict[str, Mapping[str, str]] = {"prefixed": {}, "same": {"replication.policy.class": IDENTITY}}


def test_a_conflict_is_settled_alike_on_both_sides(cluster_pair: Clusters, tmp_path: Path) -> None:
    stage = ConflictStage(cluster_pair, tmp_path)
    east, west = stage.aliases
    with stage.mirror() as mirror:
        now = int(time.time() * 1000)
        stage.write(east, [Record(0, now, b"both", b"of the east"), Record(0, now, b"mine", b"alone")])
        stage.write(west, [Record(0, now + 1000, b"both", b"of the west"), Record(0, now - 60_000, b"far", b"old")])
        stage.write(east, [Record(0, now, b"far", b"new")])
        stage.await_decisions(1)
        stage.await_view(3)
        found = {alias: stage.decisions(alias) for alias in stage.aliases}
        for alias in stage.aliases:
            (decision,) = found[alias]
            assert decision.resolution.value == b"of the west"
            assert [candidate.origin for candidate in decision.conflict.candidates] == [east, west]
            assert stage.view_of(alias) == {b"both": b"of the west", b"mine": b"alone", b"far": b"new"}
        assert found[east][0].essence == found[west][0].essence
        assert mirror.stop() == 0
    with stage.mirror():  # and again from where it was
        now = int(time.time() * 1000)
        stage.write(west, [Record(0, now, b"mine", b"not alone")])
        stage.write(east, [Record(0, now + 10, b"mine", b"last")])
        stage.await_decisions(2)
    assert stage.decisions(east)[1].resolution.value == b"last"
    for alias in stage.aliases:
        assert len(stage.decisions(alias)) == 2
    told = subprocess.run(
        [sys.executable, "-m", "heliograph", "conflicts", str(stage.file), "--since", "1h", "--topic", stage.topic,
         "-o", "json"], capture_output=True, text=True, check=True,
    )  # fmt: skip
    clusters = json.loads(told.stdout)["clusters"]
    assert {item["cluster"]: item["conflicts"] for item in clusters} == dict.fromkeys(stage.aliases, 2)


def test_merges_lose_no_write_also_where_names_are_the_same(cluster_pair: Clusters, tmp_path: Path) -> None:
    rule = {"conflicts.resolver": "crdt", "conflicts.crdt.fields": "likes: counter"}
    stage = ConflictStage(cluster_pair, tmp_path, {**NAMES["same"], **rule})
    east, west = stage.aliases
    with stage.mirror():
        now = int(time.time() * 1000)
        stage.write(east, [Record(0, now - 60_000, b"post", _likes(east=1, name="old"))])
        stage.write(east, [Record(0, now, b"post", _likes(east=3, name="first"))])
        stage.write(west, [Record(0, now + 10, b"post", _likes(west=4, name="second"))])
        stage.await_decisions(1)
        for alias in stage.aliases:
            wait_until(
                lambda a=alias: _shown(stage.view_of(a)) == (7, "second"), f"the merged post on {alias}", 60, 0.3
            )
    one, other = (stage.decisions(alias)[0] for alias in stage.aliases)
    assert one.resolution.winner is None
    assert one.essence == other.essence


def _likes(name: str, **counts: int) -> bytes:
    return json.dumps({"likes": {"p": counts}, "name": name}).encode()


def _shown(view: Mapping[bytes, bytes | None]) -> tuple[int, str] | None:
    post = json.loads(view.get(b"post") or b"null")
    return (post["likes"]["value"], post["name"]) if post else None


@pytest.mark.parametrize(
    ("names", "load"),
    [
        pytest.param("same", (150, 8.0), id="short"),
        pytest.param("prefixed", (2000, 300.0), id="long-prefixed", marks=LONG),
        pytest.param("same", (2000, 300.0), id="long-same", marks=LONG),
    ],
)
def test_every_conflict_is_found_once_and_no_other_through_a_kill(
    cluster_pair: Clusters, tmp_path: Path, names: str, load: tuple[int, float]
) -> None:
    per_second, seconds = load
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    stage = ConflictStage(cluster_pair, tmp_path, NAMES[names])
    with stage.load(per_second, seed) as writers:
        with stage.mirror():
            _await_any_decision(stage)
            time.sleep(seconds / 2)  # the load is the point, not a condition
        with stage.mirror():  # the one before was killed
            time.sleep(seconds / 2)
            writers.stop()
            _expect_all_found(stage, writers.conflicting, writers.apart)
    print(
        f"{names}: {writers.written} records, {len(writers.conflicting)} conflicts sown, all found once on both sides"
    )


def _await_any_decision(stage: ConflictStage) -> None:
    for alias in stage.aliases:
        wait_until(lambda a=alias: bool(stage.decisions(a)), f"a decision on {alias}", 180, 0.5)


def _expect_all_found(stage: ConflictStage, conflicting: list[bytes], apart: list[bytes]) -> None:
    written = _written_by_people(stage)
    expected = stage.expected(written)
    keys = {record.key for record in written}
    sown = Counter(essence[0] for essence in expected)
    assert set(conflicting) <= sown.keys()
    assert not set(apart) & sown.keys()
    stage.await_decisions(sum(expected.values()), 180)
    stage.await_view(len(keys), 180)
    for alias in stage.aliases:
        assert Counter(item.essence for item in stage.decisions(alias)) == expected
    last = {record.key: record.value for record in sorted(written, key=lambda record: record.order)}
    for alias in stage.aliases:
        wait_until(lambda a=alias: stage.view_of(a) == last, f"the view of {alias} to be as it must be", 60, 0.5)


def _written_by_people(stage: ConflictStage) -> list[Candidate]:
    """Not what the mirror has brought: with the same names, both are in one topic, and values tell."""
    return [record for record in stage.written() if (record.value or b"").startswith(record.origin.encode())]


def test_tasks_that_die_at_any_step_repeat_and_lose_nothing(cluster_pair: Clusters, tmp_path: Path) -> None:
    stage = ConflictStage(cluster_pair, tmp_path)
    with stage.mirror(), stage.load(50, 1) as writers:
        _await_any_decision(stage)
        for point in ("decisions-fenced", "decisions-written", "decisions-committed"):
            armed = stage.faults / point
            armed.touch()
            wait_until(lambda armed=armed: not armed.exists(), f"a task to die at {armed.name}", 60)
            stage.await_decisions(len(stage.decisions(stage.aliases[0])) + 1)
        writers.stop()
        _expect_all_found(stage, writers.conflicting, writers.apart)
