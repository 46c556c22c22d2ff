"""Two clusters, two writers, the real command between them: what is decided, by content."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from tests.active_active.conflict_stage import IDENTITY, ConflictSite, ConflictStage, Crossing
from tests.chaos.forms import LONG
from tests.chaos.stage import RECOVERY_SECONDS
from tests.waiting import wait_until
from tests.zoo import handmade

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

Clusters = tuple[EmbeddedCluster, EmbeddedCluster]
SAME_NAMES: Mapping[str, str] = {"replication.policy.class": IDENTITY}
COUNTERS: Mapping[str, str] = {"conflicts.resolver": "crdt", "conflicts.crdt.fields": "likes: counter"}
_PATIENCE_SECONDS = 120
_NAME_IS_NO_TEXT = ((handmade.FOREIGN_NAME.decode(errors="surrogateescape"), b"x"),)  # of a header


class Stages:
    """The mirror of one kind of names, and a topic for each test.

    With the same names values are merged. What the load writes cannot be: there the last writer wins in any case.
    """

    def __init__(self, clusters: Clusters, folder: Path, names: str) -> None:
        crossing = Crossing(clusters, {**SAME_NAMES, **COUNTERS} if names == "same" else None)
        tests = ("merged", "short", "long") if names == "same" else ("settled", "dying", "long")
        self.stages = {name: ConflictStage(crossing) for name in tests}
        self.site = ConflictSite(folder, crossing)


@pytest.fixture(scope="module")
def stages(
    request: pytest.FixtureRequest, decisions: None, cluster_pair: Clusters, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stages]:
    """A mirror that runs; whoever ends it starts it again."""
    made = Stages(cluster_pair, tmp_path_factory.mktemp("conflicts"), request.param)
    made.site.start()
    try:
        yield made
    finally:
        made.site.kill()


@pytest.mark.parametrize("stages", ["prefixed"], indirect=True)
def test_a_conflict_is_settled_alike_on_both_sides(stages: Stages) -> None:
    site, stage = stages.site, stages.stages["settled"]
    east, west = stage.aliases
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
    now = int(time.time() * 1000)
    stage.write(west, [Record(0, now, b"mine", b"not alone", _NAME_IS_NO_TEXT)])
    stage.write(east, [Record(0, now + 10, b"mine", b"last", _NAME_IS_NO_TEXT)])
    stage.await_decisions(2)
    assert stage.decisions(east)[1].resolution.value == b"last"
    for alias in stage.aliases:
        assert len(stage.decisions(alias)) == 2
    told = subprocess.run(
        [sys.executable, "-m", "heliograph", "conflicts", str(site.file), "--since", "1h", "--topic", stage.topic,
         "-o", "json"], capture_output=True, text=True, check=True,
    )  # fmt: skip
    clusters = json.loads(told.stdout)["clusters"]
    assert {item["cluster"]: item["conflicts"] for item in clusters} == dict.fromkeys(stage.aliases, 2)


@pytest.mark.parametrize("stages", ["same"], indirect=True)
def test_merges_lose_no_write_also_where_names_are_the_same(stages: Stages) -> None:
    stage = stages.stages["merged"]
    east, west = stage.aliases
    now = int(time.time() * 1000)
    stage.write(east, [Record(0, now - 60_000, b"post", _likes(east=1, name="old"))])
    stage.write(east, [Record(0, now, b"post", _likes(east=3, name="first"))])
    stage.write(west, [Record(0, now + 10, b"post", _likes(west=4, name="second"))])
    stage.await_decisions(1)
    for alias in stage.aliases:
        wait_until(lambda a=alias: _shown(stage.view_of(a)) == (7, "second"), f"the merged post on {alias}", 60, 0.3)
    one, other = (stage.decisions(alias)[0] for alias in stage.aliases)
    assert one.resolution.winner is None
    assert one.essence == other.essence


def _likes(name: str, **counts: int) -> bytes:
    return json.dumps({"likes": {"p": counts}, "name": name}).encode()


def _shown(view: Mapping[bytes, bytes | None]) -> tuple[int, str] | None:
    post = json.loads(view.get(b"post") or b"null")
    return (post["likes"]["value"], post["name"]) if post else None


@pytest.mark.parametrize(
    ("stages", "name", "load"),
    [
        pytest.param("same", "short", (150, 8.0), id="short"),
        pytest.param("prefixed", "long", (2000, 300.0), id="long-prefixed", marks=LONG),
        pytest.param("same", "long", (2000, 300.0), id="long-same", marks=LONG),
    ],
    indirect=["stages"],
)
def test_every_conflict_is_found_once_and_no_other_through_a_kill(
    stages: Stages, name: str, load: tuple[int, float], chance: random.Random, tell: Callable[[str], None]
) -> None:
    per_second, seconds = load
    stage = stages.stages[name]
    with stage.load(per_second, chance) as writers:
        _await_more_decisions(stage)
        time.sleep(seconds / 2)  # the load is the point, not a condition
        stages.site.kill()
        stages.site.start()
        time.sleep(seconds / 2)
        _await_more_decisions(stage)  # there is still load when the new one decides
        writers.stop()
        _expect_all_found(stage, writers.conflicting, writers.apart)
    tell(f"{writers.written} records, {len(writers.conflicting)} conflicts sown, all found once on both sides")


def _await_more_decisions(stage: ConflictStage, seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait until both clusters have decided more than by now."""
    for alias, count in {alias: len(stage.decisions(alias)) for alias in stage.aliases}.items():
        wait_until(lambda a=alias, n=count: len(stage.decisions(a)) > n, f"another decision on {alias}", seconds, 0.3)


def _expect_all_found(stage: ConflictStage, conflicting: list[bytes], apart: list[bytes]) -> None:
    written = _written_by_people(stage)
    expected = stage.expected(written)
    keys = {record.key for record in written}
    sown = Counter(essence[0] for essence in expected)
    assert set(conflicting) <= sown.keys()
    assert not set(apart) & sown.keys()
    stage.await_decisions(sum(expected.values()), _PATIENCE_SECONDS)
    stage.await_view(len(keys), _PATIENCE_SECONDS)
    for alias in stage.aliases:
        assert Counter(item.essence for item in stage.decisions(alias)) == expected
    last = {record.key: record.value for record in sorted(written, key=lambda record: record.order)}
    for alias in stage.aliases:
        wait_until(lambda a=alias: stage.view_of(a) == last, f"the view of {alias} to be as it must be", 60, 0.5)


def _written_by_people(stage: ConflictStage) -> list[Candidate]:
    """Not what the mirror has brought: with the same names, both are in one topic, and values tell."""
    return [record for record in stage.written() if (record.value or b"").startswith(record.origin.encode())]


@pytest.mark.parametrize("stages", ["prefixed"], indirect=True)
def test_tasks_that_die_at_any_step_repeat_and_lose_nothing(stages: Stages, chance: random.Random) -> None:
    stage = stages.stages["dying"]
    with stage.load(50, chance) as writers:
        _await_more_decisions(stage)
        for point in ("decisions-fenced", "decisions-written", "decisions-committed"):
            armed = stages.site.faults / point
            armed.touch()
            wait_until(lambda armed=armed: not armed.exists(), f"a task to die at {armed.name}", 60)
            _await_more_decisions(stage, RECOVERY_SECONDS)
        writers.stop()
        _expect_all_found(stage, writers.conflicting, writers.apart)
    assert stages.site.stop() == 0
