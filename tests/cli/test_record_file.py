"""Records that are written down as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from heliograph.cli.record_file import read_records
from heliograph.kafka.records import Record
from heliograph.kafka.sample import Sample
from heliograph.model import TopicPartition


def test_a_record_may_have_all_that_kafka_knows(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text(
        '{"topic": "orders", "partition": 2, "offset": 9, "timestamp": 5, "key": "k", "value": {"total": 9.90},'
        ' "headers": {"a": "b", "n": 1, "none": null}}'
    )
    headers = [("a", b"b"), ("n", b"1"), ("none", None)]
    expected = Sample(TopicPartition("orders", 2), Record(9, 5, b"k", b'{"total":9.90}', headers))
    assert read_records(file, None) == [expected]
    assert read_records(file, "other")[0].where.topic == "other"


def test_a_list_is_several_records_and_most_can_be_left_out(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    file.write_text('[{"value": null}, {"value_base64": "/w==", "key_base64": "AA=="}, {"value": [1, "é"]}]')
    found = read_records(file, "orders")
    assert [item.record for item in found] == [
        Record(0, 0, None, None, []),
        Record(1, 0, b"\0", b"\xff", []),
        Record(2, 0, None, '[1,"é"]'.encode(), []),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("7", "a record is an object with topic, partition"),
        ('{"topic": "t", "colour": 1}', "a record has no colour"),
        ('{"value": 1}', "name the source topic"),
        ('{"topic": "t", "offset": "1"}', "offset is a whole number"),
        ('{"topic": "t", "value_base64": "?"}', "value_base64 is not base64"),
        ('{"topic": "t", "headers": [1]}', "headers are an object"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "record.json"
    file.write_text(text)
    with pytest.raises(typer.BadParameter, match=message):
        read_records(file, None)
    with pytest.raises(typer.BadParameter, match="No such file"):
        read_records(tmp_path / "absent.json", None)
