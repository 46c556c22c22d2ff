"""`heliograph verify` on real clusters: what it prints, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import Run
from tests.recovery.handmade_mirror import HandmadeMirror, in_batches, some_records
from tests.sync.moving import make_moving
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

Maker = Callable[[bool], HandmadeMirror]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture
def make(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> Maker:
    """Fifty mirrored records and three that are not yet; the copy is right, or one byte of it is not."""

    def make(is_right: bool) -> HandmadeMirror:
        topic = fresh_name("proven")
        mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
        records = some_records(53)
        copies = records[:50] if is_right else [*records[:30], records[30]._replace(value=b"wrong"), *records[31:50]]
        mirror.write(in_batches(records, 10), in_batches(copies, 10))
        mirror.enter([Run(0, 0, 50)])
        return mirror

    return make


def read_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_an_equal_copy_ends_with_0_and_counts_what_waits(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = make(True)
    assert run("verify", str(mirror.moving.file)) == 0
    shown = capsys.readouterr().out
    assert f"{mirror.moving.flow.name}: equal: 50 records" in shown
    assert run("verify", str(mirror.moving.file), "-o", "json", "--deep") == 0
    result = read_json(capsys)
    assert result["equal"]
    [flow] = result["flows"]
    assert (flow["records"], flow["not_yet_mirrored"]) == (50, 3)
    assert flow["partitions"][0]["batches_opened"] == 5


def test_a_difference_ends_with_4_and_shows_both_versions(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = make(False)
    assert run("verify", str(mirror.moving.file), "-v") == 4
    shown = capsys.readouterr().out
    assert f"{mirror.source} offset 30, {mirror.target} offset 30: value not the same" in shown
    assert "source: value 30" in shown
    assert "target: wrong" in shown
    assert "DIFFERENT in 1 partitions" in shown
    assert run("verify", str(mirror.moving.file), "-o", "json") == 4
    found = read_json(capsys)["flows"][0]["partitions"][0]["difference"]
    assert (found["source_offset"], found["target_offset"], found["fields"]) == (30, 30, ["value"])
    assert found["versions"]["value"]["target"] == "wrong"


def test_a_dry_run_compares_nothing(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = make(False)
    assert run("verify", str(mirror.moving.file), "--dry-run", "-o", "json") == 0
    [plan] = read_json(capsys)
    assert plan["partitions"][0]["ranges"] == [{"source": [0, 50], "target": [0, 50]}]
    assert run("verify", str(mirror.moving.file), "--dry-run") == 0
    assert str(mirror.source) in capsys.readouterr().out


def test_what_is_asked_for_is_compared_and_nothing_else(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    mirror = make(False)
    file, flow = str(mirror.moving.file), mirror.moving.flow.name
    assert run("verify", file, "--flow", flow, "--from-offsets", f"{mirror.source.topic}:0:31", "-o", "json") == 0
    assert read_json(capsys)["flows"][0]["records"] == 19
    assert run("verify", file, "--topics", "nothing", "-o", "json") == 0
    assert read_json(capsys)["flows"][0]["records"] == 0
    assert run("verify", file, "--since", "1h", "-o", "json") == 0
    assert read_json(capsys)["flows"][0]["records"] == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--since", "soon"], "no time such as"),
        (["--from-offsets", "orders:1"], "topic:partition:offset"),
        (["--topics", "(("], "no regular expression"),
    ],
)
def test_what_makes_no_sense_is_refused(
    make: Maker, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert run("verify", str(make(True).moving.file), *arguments) == 2
    assert complaint in " ".join(capsys.readouterr().err.replace("│", "").split())


def test_a_flow_that_has_never_run_cannot_be_compared(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moving = make_moving(tmp_path, cluster_pair, "never")
    assert run("verify", str(moving.file)) == 1
    assert "has never run" in capsys.readouterr().err
