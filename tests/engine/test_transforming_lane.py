"""A lane with transforms between real clusters, cut off where a transaction ends."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.flow_settings import flow_settings
from heliograph.engine.outgoing import Outgoing
from heliograph.engine.settings import LaneSettings
from heliograph.engine.transforming import TransformSettings
from heliograph.kafka import reading
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.transforms.chain import ChainSpec, PredicateSpec, StageSpec
from tests.engine.lane_bench import QUICK, MakeMirror, Mirror
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

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

    def pump_but_for_the_odd(outgoing: Outgoing, is_last: bool = False) -> None:
        hidden = {}
        if time.monotonic() - began < _HIDDEN_SECONDS:
            for ready in outgoing._ready.values():
                hidden = {name: ready.pop(name) for name in list(ready) if name.topic.endswith("-odd")}
        pump(outgoing, is_last)
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


# -- what a dead letter has --------------------------------------------------------------------------------------------

_SECRET = "somebody@example.org"
_BAD = Record(0, 1_700_000_000_000, b"key of " + _SECRET.encode(), b"", [("of", _SECRET.encode())])
_CAST = "cast.type = Cast$Value\ntransforms.cast.spec = id:int32"  # hides nothing
_MASK = "mask.type = MaskPII\ntransforms.mask.fields = email"
_NO_NUMBER = json.dumps({"id": _SECRET}).encode()
_NO_OBJECT = json.dumps(_SECRET).encode()

_NAMES = {None: "unset", "auto": "auto", "full": "full", "none": "none", _CAST: "cast", _MASK: "mask"}
_NAMES |= {_NO_NUMBER: "no number", _NO_OBJECT: "no object", True: "shown", False: "hidden"}


@pytest.mark.parametrize(
    ("content", "transform", "value", "is_shown"),
    [
        (None, _CAST, _NO_NUMBER, True),
        (None, _MASK, _NO_OBJECT, False),
        ("auto", _CAST, _NO_NUMBER, True),
        ("auto", _MASK, _NO_OBJECT, False),
        ("full", _CAST, _NO_NUMBER, True),
        ("full", _MASK, _NO_OBJECT, True),
        ("none", _CAST, _NO_NUMBER, False),
        ("none", _MASK, _NO_OBJECT, False),
    ],
    ids=lambda value: _NAMES.get(value),
)
def test_a_dead_letter_has_the_content_that_the_file_says(
    make_mirror: MakeMirror, tmp_path: Path, content: str | None, transform: str, value: bytes, is_shown: bool
) -> None:
    mirror = make_mirror()
    letters = create_topic(mirror.stations.target, fresh_name("letters"))
    bad = _BAD._replace(value=value)
    mirror.write([[Record(0, 5, None, b'{"id": 1}'), bad, Record(0, 6, None, b'{"id": 2}')]])
    mirror.copy_all(replace(QUICK, transforms=_from_file(tmp_path, mirror, letters, content, transform)))
    [where] = mirror.pairs
    with raw.network(mirror.stations.target, letters, mirror.pairs[where].topic) as (loop, network):
        [(_, letter)] = reading.read_to_end(loop, network, letters, {0: 0})
        copies = list(reading.read_to_end(loop, network, mirror.pairs[where].topic, {0: 0}))
    assert len(copies) == 2
    assert not any(_SECRET in repr(copy) for copy in copies)
    causes = [header for header in letter.headers if header[0].startswith("__connect.errors.")]
    told = {name.removeprefix("__connect.errors."): text for name, text in causes}
    assert (told["topic"], told["partition"], told["offset"]) == (where.topic.encode(), b"0", b"1")
    if is_shown:
        assert (letter.key, letter.value, letter.headers) == (bad.key, bad.value, [*bad.headers, *causes])
    else:
        assert (letter.key, letter.value, letter.headers) == (None, None, causes)
        assert _SECRET not in repr(letter)


def _from_file(folder: Path, mirror: Mirror, letters: str, content: str | None, transform: str) -> TransformSettings:
    """What a properties file with this transform means to a lane; no line for the content if it is None."""
    name = transform.partition(".")[0]
    lines = [
        "clusters = primary, backup",
        f"primary.bootstrap.servers = {mirror.stations.source}",
        f"backup.bootstrap.servers = {mirror.stations.target}",
        "primary->backup.enabled = true",
        f"transforms = {name}",
        f"transforms.{transform}",
        "replication.factor = 1",
        f"errors.deadletterqueue.topic.name = {letters}",
        *([] if content is None else [f"errors.deadletterqueue.content = {content}"]),
    ]
    file = folder / "mm2.properties"
    file.write_text("\n".join(lines) + "\n")
    return flow_settings(load(file).flows[0]).lane.transforms
