"""`heliograph transform`: trying out records of real clusters and of files, and looking things up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.sync.moving import make_moving
from tests.zoo.topics import create_topic, fresh_name

SEED = Path(__file__).parents[1] / "config" / "seeds" / "000-transforms.properties"
SETTINGS = """\
topics = .*
{flow}.transforms = mask, route, drop
{flow}.transforms.mask.type = MaskPII
{flow}.transforms.mask.fields = email
{flow}.transforms.route.type = org.apache.kafka.connect.transforms.RegexRouter
{flow}.transforms.route.regex = (.*)\\\\.(orders.*)
{flow}.transforms.route.replacement = masked.$2
{flow}.transforms.drop.type = Filter
{flow}.transforms.drop.predicate = test
{flow}.predicates = test
{flow}.predicates.test.type = FieldMatches
{flow}.predicates.test.path = test
{flow}.predicates.test.value = true
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Transforms between clusters that are not there, and need not be."""
    made = tmp_path / "mm2.properties"
    clusters = "clusters = a, b\na.bootstrap.servers = a:9092\nb.bootstrap.servers = b:9092\na->b.enabled = true\n"
    made.write_text(clusters + SETTINGS.format(flow="a->b"))
    return made


def record_file(folder: Path, *records: dict[str, Any]) -> str:
    made = folder / "records.json"
    made.write_text(json.dumps(records))
    return str(made)


def test_records_of_a_file_are_shown_before_and_after(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = record_file(
        tmp_path,
        {"topic": "orders", "key": "k", "value": {"id": 1, "email": "ada@example.com"}, "headers": {"h": "1"}},
        {"topic": "orders", "value": {"test": True}},
        {"topic": "others"},
    )
    assert run("transform", "try", str(file), "--record", records) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "orders-0 offset 0: routed to masked.orders-0, changed topic, value" in lines
    assert "mask (MaskPII): changed value" in lines
    assert "~ topic a.orders masked.orders" in lines
    assert '~ "email": "ada@example.com" "email": "ad***********om"' in lines
    assert '"id": 1, "id": 1,' in lines
    assert "headers h: 1 h: 1" in lines
    assert "orders-0 offset 1: dropped by drop" in lines
    assert "others-0 offset 2: passed to a.others-0 as it was" in lines


def test_a_record_that_fails_ends_with_1_and_tells_where(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = record_file(tmp_path, {"topic": "orders", "value": "no JSON"})
    assert run("transform", "try", str(file), "--record", records) == 1
    shown = capsys.readouterr().out
    assert "orders-0 offset 0: FAILED in mask" in shown
    assert "not a JSON object" in shown


def test_json_for_programs(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = record_file(tmp_path, {"topic": "orders", "value": {"email": "secret"}, "key_base64": "/w=="})
    assert run("transform", "try", str(file), "--record", records, "-o", "json") == 0
    [found] = json.loads(capsys.readouterr().out)["records"]
    assert (found["ending"], found["changed"]) == ("passed", ["topic", "value"])
    assert (found["before"]["value"], found["after"]["value"]) == ({"email": "secret"}, {"email": "se**et"})
    assert found["before"]["key"] == "base64:/w=="
    assert [stage["name"] for stage in found["stages"]] == ["mask", "route", "drop"]


def test_a_file_for_mirrormaker_with_a_transform_of_its_own_works_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = {"name": "Ada", "email": "ada@example.com", "phone": "+44 20 7946", "ssn": "078-05-1120"}
    records = record_file(tmp_path, {"topic": "people", "value": person}, {"topic": "people", "key": "k"})
    assert run("transform", "try", str(SEED), "--record", records, "-o", "json") == 0
    first, tombstone = json.loads(capsys.readouterr().out)["records"]
    masked = {"name": "Ada", "email": "ad***********om", "phone": "+4*******46", "ssn": "07*******20"}
    assert first["after"]["value"] == masked
    assert first["after"]["headers"] == [{"name": "X-Replicated-From", "value": "source-cluster"}]
    assert tombstone["changed"] == []


def test_a_topic_or_a_file_is_needed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("transform", "try", str(file)) == 2
    assert "--topic" in capsys.readouterr().err


def test_all_that_is_built_in_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("transform", "list") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("ReplaceField", "MaskPII", "TopicNameMatches", "FieldMatches"))
    assert run("transform", "list", "com.example.transforms.MaskPIITransform") == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("MaskPII$Key", "not.an.object", "required", "One of: fail, pass."))
    assert run("transform", "list", "org.apache.kafka.connect.transforms.ReplaceField$Value", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["name"] == "ReplaceField"
    assert run("transform", "list", "MaskPi") == 2
    assert "did you mean MaskPII?" in capsys.readouterr().err


@pytest.mark.kafka
def test_real_records_are_tried(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moving = make_moving(tmp_path, cluster_pair, ".*")
    with moving.file.open("a") as settings:
        settings.write(SETTINGS.format(flow=f"{moving.name}->shelter"))
    topic = create_topic(moving.source, fresh_name("orders"), partitions=2)
    with opened(Access("source", [moving.source]), [topic]) as (loop, network):
        for partition in range(2):
            some = [Record(0, 1000 * n + partition, b"k", b'{"email":"secret%d%d"}' % (partition, n)) for n in range(5)]
            writing.append(loop, network, TopicPartition(topic, partition), some)

    def tried(*arguments: str) -> list[tuple[int, int, str]]:
        assert run("transform", "try", str(moving.file), "--topic", topic, "-o", "json", *arguments) == 0
        found = json.loads(capsys.readouterr().out)["records"]
        assert all(item["after"]["topic"] == f"masked.{topic}" for item in found)
        return [(item["partition"], item["offset"], item["after"]["value"]["email"]) for item in found]

    assert tried("--partition", "1", "--offset", "3", "--count", "5") == [(1, 3, "se****13"), (1, 4, "se****14")]
    assert tried("--offset", "1") == [(0, 1, "se****01")]
    assert tried("--count", "3") == [(1, 3, "se****13"), (0, 4, "se****04"), (1, 4, "se****14")]  # the newest
    assert tried("--partition", "0", "--count", "2") == [(0, 3, "se****03"), (0, 4, "se****04")]
    for arguments, message in [
        (["--offset", "5"], "has no offset 5; there are 0 to 4"),
        (["--partition", "7"], f"has no partition {topic}-7"),
        (["--partition", "7", "--offset", "0"], f"has no partition {topic}-7"),
    ]:
        assert run("transform", "try", str(moving.file), "--topic", topic, *arguments) == 1
        assert message in capsys.readouterr().err


@pytest.mark.spark
def test_a_query_is_tried_like_transforms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters = a, b\na.bootstrap.servers = a:9092\nb.bootstrap.servers = b:9092\na->b.enabled = true\n"
        "a->b.transform.sql = SELECT concat(topic, '-x') AS topic, "
        "regexp_replace(CAST(value AS STRING), '@.*?\"', '@***\"') AS value FROM records WHERE key IS NOT NULL\n"
    )
    records = record_file(
        tmp_path,
        {"topic": "orders", "key": "k", "value": {"email": "jane@example.com"}},
        {"topic": "orders", "value": {"email": "john@example.com"}},
    )
    assert run("transform", "try", str(file), "--record", records, "-o", "json") == 0
    passed, dropped = json.loads(capsys.readouterr().out)["records"]
    assert (passed["after"]["topic"], passed["after"]["value"]) == ("a.orders-x", {"email": "jane@***"})
    assert (dropped["ending"], dropped["after"]) == ("dropped", None)
