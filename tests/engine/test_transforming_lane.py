"""A lane with transforms between real clusters, cut off where a transaction ends."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from heliograph.engine.outgoing import Outgoing
from heliograph.engine.settings import LaneSettings
from heliograph.engine.transforming import TransformSettings
from heliograph.kafka import reading
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.transforms.chain import ChainSpec, PredicateSpec, StageSpec
from tests.engine.lane_bench import QUICK, MakeMirror, Mirror
from tests.zoo import raw

pytestmark = pytest.mark.kafka

_KAFKA = "org.apache.kafka.connect.transforms."
_ODD = PredicateSpec(
    "FieldMatches", {"path": "odd", "side": "value", "operator": "equals", "value": "true", "if.missing": "false"}
)
_MOVE_ODD = ChainSpec(
    (StageSpec("move", f"{_KAFKA}RegexRouter", {"regex": "(.*)", "replacement": "$1-odd"}, "isOdd"),), {"isOdd": _ODD}
)
_HIDDEN_SECONDS = 1.0


def settings(**changes: object) -> LaneSettings:
    made = TransformSettings(_MOVE_ODD, **changes)  # type: ignore[arg-type]
    return replace(QUICK, transforms=made)


def records(first: int, count: int) -> list[Record]:
    values = ({"n": n, "odd": n % 2 == 1} for n in range(first, first + count))
    return [Record(0, 1_700_000_000_000, None, json.dumps(value).encode()) for value in values]


def arrived(mirror: Mirror, suffix: str = "") -> list[int]:
    """The numbers of all committed records of the copy's first partition, or of what was sent beside it."""
    topic = next(iter(mirror.pairs.values())).topic + suffix
    with raw.network(mirror.stations.target, topic) as (loop, network):
        return [json.loads(record.value or b"")["n"] for _, record in reading.read_to_end(loop, network, topic, {0: 0})]


def test_no_transaction_ends_between_two_targets_of_a_partition(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one of them is slow a commit is due; what a lane that dies right after it has written is not repeated."""
    mirror = make_mirror(partitions=2)
    mirror.write([records(0, 40)])
    mirror.write([records(0, 1)], partition=1)  # is done at once, so that there is something to commit
    began = time.monotonic()
    pump = Outgoing.pump

    def pump_but_for_the_odd(outgoing: Outgoing) -> None:
        hidden = {}
        if time.monotonic() - began < _HIDDEN_SECONDS:
            for ready in outgoing._ready.values():
                hidden = {name: ready.pop(name) for name in list(ready) if name.topic.endswith("-odd")}
        pump(outgoing)
        for target in hidden.values():
            outgoing._ready.setdefault(target.broker_id, {})[target.name] = target

    monkeypatch.setattr(Outgoing, "pump", pump_but_for_the_odd)
    lane = mirror.lane(lambda: False, settings())
    next(lane)
    lane.close()
    monkeypatch.undo()
    mirror.write([records(40, 10)])
    mirror.copy_all(settings())
    assert arrived(mirror) == list(range(0, 50, 2))
    assert arrived(mirror, "-odd") == list(range(1, 50, 2))


def test_a_topic_that_records_are_routed_to_is_created_with_as_many_partitions(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=3)
    mirror.write([records(0, 4)], partition=1)
    mirror.copy_all(settings())
    topic = mirror.pairs[TopicPartition(next(iter(mirror.pairs)).topic, 1)].topic + "-odd"
    with raw.network(mirror.stations.target, topic) as (_, network):
        assert network.partitions(topic) == [0, 1, 2]


def test_what_may_work_in_a_moment_is_tried_again(make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    from heliograph.errors import RetryLater
    from heliograph.transforms.message import Message
    from heliograph.transforms.smt.regex_router import RegexRouter

    tries: list[float] = []
    apply = RegexRouter.apply

    def shy(self: RegexRouter, message: Message) -> Message | None:
        tries.append(time.monotonic())
        if len(tries) < 4:
            raise RetryLater("not yet")
        return apply(self, message)

    monkeypatch.setattr(RegexRouter, "apply", shy)
    mirror = make_mirror()
    mirror.write([records(1, 1)])
    mirror.copy_all(settings(retry_ms=30_000, dead_letters="none"))
    assert len(tries) >= 4
    assert arrived(mirror, "-odd") == [1]
