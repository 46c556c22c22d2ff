"""`heliograph offsets translate` on real clusters with a real ledger."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from tests.sync.moving import Moving, consume, make_moving, produce
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka

ORDERS = TopicPartition("translated-orders", 0)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def moving(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory) -> Moving:
    """Thirty mirrored records in three transactions, and a group that has read twelve of them."""
    made = make_moving(tmp_path_factory.mktemp("offsets"), cluster_pair, "translated-.*")
    create_topic(made.source, ORDERS.topic)
    for start in (0, 10, 20):
        produce(made.source, ORDERS, range(start, start + 10))
        made.mirror()
    consume(made.source, f"{made.name}-billing", ORDERS, 12)
    return made


def translated(moving: Moving, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    flow = f"{moving.name}->shelter"
    assert run("offsets", "translate", str(moving.file), "--flow", flow, "-o", "json", *arguments) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return rows


def test_a_group_is_shown_with_its_place_on_the_target(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    group = f"{moving.name}-billing"
    expected = {
        "group": group,
        "from": moving.name,
        "topic": ORDERS.topic,
        "partition": 0,
        "offset": 12,
        "to": "shelter",
        "target_topic": f"{moving.name}.{ORDERS.topic}",
        "target_offset": 13,  # one transaction marker lies before it
        "exact": True,
        "lag": 18,
    }
    assert translated(moving, capsys, "--group", group) == [expected]
    assert translated(moving, capsys) == [expected]


def test_single_offsets_are_translated_there_and_back(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    remote = f"{moving.name}.{ORDERS.topic}"
    there = translated(moving, capsys, "--offset", f"{ORDERS.topic}:0:25", "--offset", f"{ORDERS.topic}:0:9")
    assert [(row["group"], row["target_offset"], row["exact"]) for row in there] == [(None, 9, True), (None, 27, True)]
    [back] = translated(moving, capsys, "--reverse", "--offset", f"{remote}:0:27")
    assert (back["from"], back["to"], back["target_topic"]) == ("shelter", moving.name, ORDERS.topic)
    assert (back["target_offset"], back["exact"]) == (25, True)


def test_an_offset_ahead_of_the_mirror_is_not_exact(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    [row] = translated(moving, capsys, "--offset", f"{ORDERS.topic}:0:99")
    assert (row["target_offset"], row["exact"], row["lag"]) == (32, False, 0)


def test_a_group_on_the_target_is_translated_back(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    remote = TopicPartition(f"{moving.name}.{ORDERS.topic}", 0)
    consume(moving.target, f"{moving.name}-returning", remote)
    [row] = translated(moving, capsys, "--reverse", "--group", f"{moving.name}-returning")
    assert (row["target_topic"], row["target_offset"], row["exact"]) == (ORDERS.topic, 30, True)


def test_a_table_for_people(moving: Moving, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("offsets", "translate", str(moving.file)) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert f"{moving.name}-billing {ORDERS.topic} 0 12 {moving.name}.{ORDERS.topic} 13 yes 18" in lines


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--flow", "x->y"], 2, "there is no flow x->y"),
        (["--offset", "orders"], 2, "is not topic:partition:offset"),
        (["--offset", "orders:0:-1"], 2, "is not topic:partition:offset"),
        (["--group", "nobody"], 1, "has no consumer group nobody"),
        (["--offset", "elsewhere:0:5"], 1, "topic elsewhere of"),
        (["--offset", f"{ORDERS.topic}:7:5"], 1, "shelter has no partition"),
    ],
)
def test_mistakes_are_told(
    moving: Moving, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert run("offsets", "translate", str(moving.file), *arguments) == code
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_flow_that_has_never_run_has_nothing_to_translate_by(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster],
    moving: Moving,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    idle = make_moving(tmp_path_factory.mktemp("idle"), cluster_pair, "translated-.*")
    assert run("offsets", "translate", str(idle.file), "--offset", f"{ORDERS.topic}:0:5") == 1
    assert "has never run" in capsys.readouterr().err
