from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka import positions
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition

T0 = TopicPartition("t", 0)


def test_a_key_has_exactly_the_bytes_of_kafka_connect() -> None:
    expected = b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'
    assert positions.encode_key("A", T0) == expected


def test_a_key_keeps_characters_beyond_ascii_as_they_are() -> None:
    assert positions.encode_key("Zürich", T0).decode() == (
        '["MirrorSourceConnector",{"cluster":"Zürich","partition":0,"topic":"t"}]'
    )


@given(st.text(), st.text(min_size=1), st.integers(0, 10**6))
def test_a_key_names_what_it_was_made_of(cluster: str, topic: str, partition: int) -> None:
    source = TopicPartition(topic, partition)
    try:
        key = positions.encode_key(cluster, source)
    except UnicodeEncodeError:
        return  # lone surrogates have no bytes
    assert positions.decode_key(key) == (cluster, source)


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"text",
        b"null",
        b"17",
        b'["MirrorCheckpointConnector",{"partition":0,"topic":"t","group":"g"}]',
        b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"a","targetClusterAlias":"b"}]',
        b'["MirrorSourceConnector",{"topic":"t"}]',
        b'["MirrorSourceConnector"]',
        b"\xff\xfe",
    ],
)
def test_keys_of_others_are_passed_over(key: bytes) -> None:
    assert positions.decode_key(key) is None


def test_a_value_is_mm2s_offset_and_flat_fields_of_ours() -> None:
    value = positions.encode_value(Position(41, 99, "id", 3, "other", 7))
    ours = b'"targetOffset":99,"topicId":"id","leaderEpoch":3,"targetTopicId":"other","targetLostFrom":7'
    assert value == b'{"offset":41,"format":1,' + ours + b"}"
    assert all(not isinstance(field, (dict, list)) for field in json.loads(value).values())
    assert positions.encode_value(Position(41)) == b'{"offset":41,"format":1}'


_OFFSETS, _IDS = st.integers(-1, 2**62), st.text("0123-abc")


@given(st.builds(Position, st.integers(0, 2**62), _OFFSETS, _IDS, st.integers(-1, 2**31), _IDS, _OFFSETS))
def test_a_value_is_read_back_whole(position: Position) -> None:
    assert positions.decode_value(positions.encode_value(position)) == position


def test_values_of_mm2_and_older_and_deleted_ones_are_understood() -> None:
    assert positions.decode_value(b'{"offset":7}') == Position(7)
    before_targets_had_ids = b'{"offset":41,"targetOffset":99,"topicId":"id","leaderEpoch":3}'
    assert positions.decode_value(before_targets_had_ids) == Position(41, 99, "id", 3)
    assert positions.decode_value(None) is None
    assert positions.decode_value(b"null") is None


def test_positions_of_before_there_were_formats_are_read_and_newer_ones_refused_with_their_place() -> None:
    assert positions.decode_value(b'{"offset":7,"targetOffset":9}') == Position(7, 9)
    newer = Record(12, 0, positions.encode_key("A", T0), b'{"offset":7,"format":2}')
    with pytest.raises(NewerFormat, match=r"^offsets-3, offset 12: a position: a record of format 2, written"):
        positions.take_in({}, "A", TopicPartition("offsets", 3), newer)
    positions.take_in({}, "B", TopicPartition("offsets", 3), newer)  # of another flow


def test_later_records_replace_earlier_ones_and_deletions_remove_them() -> None:
    known: dict[TopicPartition, Position] = {}
    key = positions.encode_key("A", T0)
    positions.apply(known, "A", key, b'{"offset":1}')
    positions.apply(known, "A", key, b'{"offset":5}')
    assert known == {T0: Position(5)}
    positions.apply(known, "A", key, None)
    positions.apply(known, "B", key, b'{"offset":9}')
    positions.apply(known, "A", None, b'{"offset":9}')
    assert known == {}


@pytest.mark.parametrize(
    ("key", "java_hash"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_partition_is_that_of_javas_murmur2(key: bytes, java_hash: int) -> None:
    for count in (1, 25, 50):
        assert positions.partition_for(key, count) == (java_hash & 0x7FFFFFFF) % count


@pytest.mark.parametrize("value", [b"no json", b"[1]", b'{"offset":"far"}', b'{"offset":null}', b'{"place":1}', b"7"])
def test_a_position_that_cannot_be_read_is_an_error_and_not_a_start_from_the_beginning(value: bytes) -> None:
    with pytest.raises(MalformedRecord, match="a position is not what it should be"):
        positions.decode_value(value)
