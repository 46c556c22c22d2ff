"""Whatever is killed while records are masked, left out and sent elsewhere: each arrives once, and none unmasked."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from tests.chaos.forms import short_and_long
from tests.chaos.load import Load
from tests.chaos.stage import PARTITIONS, PATIENCE_SECONDS, Stage
from tests.chaos.strikes import Strikes, die_at_every_step
from tests.flows.transform_stage import contents
from tests.running import Tell
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_FEW = Strikes(worker=3, jvm=1, engine=1)
_MANY = Strikes(worker=44, jvm=10, engine=10, longest_calm=4, hasty=0.2)
_KAFKA = "org.apache.kafka.connect.transforms."
_FLOW = {
    "transforms": "mask, thin, part",
    "transforms.mask.type": "MaskPII",
    "transforms.mask.fields": "email",
    "transforms.thin.type": f"{_KAFKA}Filter",
    "transforms.thin.predicate": "isThird",
    "transforms.part.type": f"{_KAFKA}RegexRouter",
    "transforms.part.regex": "(.*)",
    "transforms.part.replacement": "$1-odd",
    "transforms.part.predicate": "isOdd",
    "predicates": "isThird, isOdd",
    "predicates.isThird.type": "FieldMatches",
    "predicates.isThird.path": "rest",
    "predicates.isThird.operator": "equals",
    "predicates.isThird.value": "0",
    "predicates.isOdd.type": "FieldMatches",
    "predicates.isOdd.path": "odd",
    "predicates.isOdd.operator": "equals",
    "predicates.isOdd.value": "true",
}


class _People(Load):
    """Records with something to hide; every hundredth cannot be read."""

    def _record(self, number: int) -> Record:
        person = {"n": number, "email": f"person{number}@example.com", "rest": number % 3, "odd": number % 2 == 1}
        value = b"person@example.com is no JSON" if number % 100 == 50 else json.dumps(person).encode()
        return Record(0, int(time.time() * 1000), str(number).encode(), value)


class _Scene:
    def __init__(self, clusters: tuple[EmbeddedCluster, EmbeddedCluster], folder: Path) -> None:
        near, far = fresh_name("near"), fresh_name("far")
        options = {f"{near}->{far}.{name}": value for name, value in _FLOW.items()}
        options |= {"errors.deadletterqueue.topic.replication.factor": "1", "heartbeats.replication.enabled": "false"}
        self.stage = Stage(clusters, folder, fresh_name("people"), (near, far), options)
        self.letters = f"mm2-dead-letters.{near}.internal"
        self.mirror = self.stage.start()

    def start_again(self) -> None:
        """A new mirror takes over."""
        self.mirror = self.stage.start()

    def await_recovery(self) -> None:
        """All partitions are mirrored again, soon."""
        self.stage.await_recovery()

    def load(self) -> Load:
        return _People(self.stage.source.bootstrap_servers, self.stage.topic, PARTITIONS, per_second=500)

    def wanted(self) -> dict[tuple[str, int], list[tuple[bytes | None, object]]]:
        """What each partition of the target should hold, from what the source holds."""
        found: dict[tuple[str, int], list[tuple[bytes | None, object]]] = {}
        for partition in range(PARTITIONS):
            for record in contents(self.stage.source, self.stage.topic, partition):
                place, value = self._fate(record, partition)
                if place is not None:
                    found.setdefault(place, []).append((record.key, value))
        return {place: _in_order(place, items, self.letters) for place, items in found.items()}

    def _fate(self, record: Record, partition: int) -> tuple[tuple[str, int] | None, object]:
        try:
            person = json.loads(record.value or b"")
        except ValueError:
            return (self.letters, 0), None
        if not person["rest"]:
            return None, None
        email = person["email"]
        person["email"] = email[:2] + "*" * (len(email) - 4) + email[-2:]
        return (f"{self.stage.copy}-odd" if person["odd"] else self.stage.copy, partition), person

    def arrived(self, place: tuple[str, int]) -> list[tuple[bytes | None, object]]:
        """What a partition of the target holds; of dead letters, which records they are about."""
        found = contents(self.stage.target, *place)
        assert not [record for record in found if b"person@" in (record.value or b"") or _is_bare(record)]
        if place[0] == self.letters:
            sources = [dict(record.headers) for record in found]
            offsets = [(head["__connect.errors.partition"], head["__connect.errors.offset"]) for head in sources]
            assert len(set(offsets)) == len(offsets)
            return _in_order(place, [(None, None) for _ in found], self.letters)
        return [(record.key, json.loads(record.value or b"")) for record in found]

    def expect_right(self, at_least: int) -> int:
        """Wait for the mirror to catch up, then compare by content."""
        wanted = self.wanted()
        size = sum(map(len, wanted.values()))
        assert size > at_least

        def is_there() -> bool:
            return sum(len(contents(self.stage.target, *place)) for place in wanted) >= size

        wait_until(is_there, f"{size} records", PATIENCE_SECONDS, 0.5)
        for place, items in wanted.items():
            assert self.arrived(place) == items, place
        return size


def _in_order(
    place: tuple[str, int], items: list[tuple[bytes | None, object]], letters: str
) -> list[tuple[bytes | None, object]]:
    """Dead letters of all partitions meet in one, in any order, and tell no content."""
    return [(None, None) for _ in items] if place[0] == letters else items


def _is_bare(record: Record) -> bool:
    return b"@example" in (record.value or b"") or any(b"@" in (value or b"") for _, value in record.headers)


@pytest.fixture(scope="module")
def scene(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[_Scene]:
    """One mirror, which ends in good order."""
    scene = _Scene((primary, backup), tmp_path_factory.mktemp("transformed"))
    try:
        yield scene
        assert scene.mirror.stop() == 0
    finally:
        scene.mirror.kill()


@short_and_long("strikes", _FEW, _MANY)
def test_every_part_is_killed_at_random_moments(
    scene: _Scene, strikes: Strikes, chance: random.Random, tell: Tell
) -> None:
    with scene.load() as load:
        scene.stage.await_progress()
        slowest = strikes.fall_on(scene, chance)
    count = scene.expect_right(load.acknowledged // 2)
    tell(f"{strikes}, slowest recovery {slowest:.1f} s; {count:,} records, each once, none unmasked")


@short_and_long("rounds", 1, 5)
def test_a_lane_that_dies_at_any_step_of_a_commit(scene: _Scene, rounds: int) -> None:
    stage = scene.stage
    with scene.load() as load:
        stage.await_progress()
        die_at_every_step(stage, scene.mirror, rounds)
    scene.expect_right(load.acknowledged // 2)
