"""Two clusters mirror the same topic names into each other under kills: all arrives once, and nothing circles."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.forms import short_and_long
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess, MirrorRuns
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, admin_of, await_growth, write_settings
from tests.chaos.strikes import Strikes
from tests.checker import Finding
from tests.checker.classification import classify
from tests.checker.stock_reader import Seen, read_committed
from tests.running import Tell
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_PARTITIONS = 3
_IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_FEW = Strikes(worker=3, whole=1)
_MANY = Strikes(worker=14, jvm=3, engine=3, whole=2, longest_calm=3)
_LANES = (1, 3, 2, 1, 3)
_CALM_SECONDS = 5

Logs = Mapping[TopicPartition, Sequence[Seen]]


@dataclass(frozen=True)
class TwoWay:
    """A topic that both clusters have, and write to."""

    sides: Mapping[str, EmbeddedCluster]
    topic: str

    def load(self, alias: str) -> Load:
        """Records on one side, which name it."""
        return Load(self.sides[alias].bootstrap_servers, self.topic, _PARTITIONS, per_second=200, name=alias)

    def await_progress(self, seconds: float = PATIENCE_SECONDS) -> None:
        """The topics grow by themselves, under load: that something is mirrored shows in the ledgers."""
        await_growth(self.sides["right"], "mm2-ledger.left.internal", seconds)
        await_growth(self.sides["left"], "mm2-ledger.right.internal", seconds)

    def await_arrival(self, written: int) -> None:
        """Wait until everything has arrived on both sides, or does not arrive in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(_size(self.read(alias)) < written for alias in self.sides) and time.monotonic() < deadline:
            time.sleep(0.5)

    def read(self, alias: str) -> Logs:
        """Everything on one side."""
        servers = self.sides[alias].bootstrap_servers
        partitions = [TopicPartition(self.topic, number) for number in range(_PARTITIONS)]
        return {where: list(read_committed(servers, where)) for where in partitions}


@dataclass
class _Struck:
    """The mirror that is killed."""

    two_way: TwoWay
    settings: Path
    mirror: MirrorProcess

    def start_again(self) -> None:
        """A new mirror takes over; both write to one log."""
        self.mirror = MirrorProcess(self.settings, self.settings.parent / "mirror.log")

    def await_recovery(self) -> None:
        """Both directions are mirrored again, soon."""
        self.two_way.await_progress(RECOVERY_SECONDS)


@pytest.fixture
def two_way(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> TwoWay:
    topic = fresh_name("to-and-fro")
    for cluster in cluster_pair:
        with admin_of(cluster) as admin:
            admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])
    return TwoWay(dict(zip(("left", "right"), cluster_pair, strict=True)), topic)


@short_and_long("strikes", _FEW, _MANY)
def test_same_names_in_both_directions_without_loops(
    two_way: TwoWay, tmp_path: Path, strikes: Strikes, chance: random.Random, tell: Tell
) -> None:
    settings = tmp_path / "mm2.properties"
    _configure(settings, two_way, {})
    began = time.monotonic()
    struck = _Struck(two_way, settings, MirrorProcess(settings, tmp_path / "mirror.log"))
    try:
        with two_way.load("left") as from_left, two_way.load("right") as from_right:
            two_way.await_progress()
            slowest = strikes.fall_on(struck, chance)
        written = from_left.acknowledged + from_right.acknowledged
        two_way.await_arrival(written)
        assert struck.mirror.stop() == 0
    finally:
        struck.mirror.kill()
    tell(f"{strikes} in {time.monotonic() - began:.0f} s, slowest recovery {slowest:.1f} s; {written} records written")
    _expect_once(two_way, written, struck.mirror)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_other_lanes_after_a_restart_know_what_the_former_wrote(two_way: TwoWay, tmp_path: Path, tell: Tell) -> None:
    """More and fewer lanes, each time after a kill of the whole mirror with a backlog on both sides."""
    settings = tmp_path / "mm2.properties"
    runs = MirrorRuns(settings)
    began = time.monotonic()
    with two_way.load("left") as from_left, two_way.load("right") as from_right:
        for lanes in _LANES:
            _configure(settings, two_way, {"tasks.max": str(lanes)})
            with runs.one():
                two_way.await_progress()
                time.sleep(_CALM_SECONDS)
    written = from_left.acknowledged + from_right.acknowledged
    with runs.one() as mirror:
        two_way.await_arrival(written)
        assert mirror.stop() == 0
    tell(f"{len(_LANES)} restarts in {time.monotonic() - began:.0f} s; {written} records written")
    _expect_once(two_way, written, mirror)


def _configure(settings: Path, two_way: TwoWay, options: Mapping[str, str]) -> None:
    given = {"topics": two_way.topic, "replication.policy.class": _IDENTITY, **options}
    write_settings(settings, two_way.sides, ["left->right", "right->left"], given)


def _expect_once(two_way: TwoWay, written: int, mirror: MirrorProcess) -> None:
    left, right = two_way.read("left"), two_way.read("right")
    findings = [*_differences("left", left, right), *_differences("right", right, left)]
    assert not findings, "\n".join([*map(str, findings[:20]), mirror.log_text()[-3000:]])
    assert (_size(left), _size(right)) == (written, written), "something has circled"


def _size(logs: Logs) -> int:
    return sum(map(len, logs.values()))


def _differences(origin: str, home: Logs, away: Logs) -> Iterator[Finding]:
    """What was written on one side must be on the other, once and in the same order."""
    for where, log in home.items():
        yield from classify(where, _written_on(origin, log), _written_on(origin, away[where]))


def _written_on(origin: str, log: Sequence[Seen]) -> list[Seen]:
    return [item for item in log if item.content.headers == (("from", origin.encode()),)]
