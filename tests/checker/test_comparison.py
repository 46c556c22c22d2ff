"""The checker must find every single change of a faithful copy, on real clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.checker import Kind, Report, SameClusterError, compare, compare_compacted
from tests.zoo.raw import append, batch_of
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

Expected = tuple[object, ...]
ORIGINAL = [
    Record(0, 1_000, b"k0", b"v0"),
    Record(1, 1_000, None, b"v1", [("h", b"1"), ("h", None), ("g", b"")]),
    Record(2, 1_001, b"k2", None),
    Record(3, 1_002, b"", b""),
    Record(4, 1_003, b"k4", b"\xff" * 100, [("h", b"x" * 50)]),
    Record(5, 1_003, b"k0", b"v5"),
]


def altered(index: int, **changes: object) -> list[Record]:
    return [*ORIGINAL[:index], ORIGINAL[index]._replace(**changes), *ORIGINAL[index + 1 :]]  # type: ignore[arg-type]


class Copies:
    """One source topic and as many copies as asked for."""

    def __init__(self, source: str, target: str) -> None:
        self._servers = (source, target)
        self._source = TopicPartition(create_topic(source, fresh_name("original")), 0)
        append(source, self._source, [batch_of(ORIGINAL)])

    def check(self, copied: Sequence[Record], how: Callable[..., Report] = compare) -> tuple[list[Expected], int]:
        """What the checker says of a copy that has these records."""
        target = TopicPartition(create_topic(self._servers[1], fresh_name("copy")), 0)
        append(self._servers[1], target, [batch_of([record]) for record in copied])
        report = how(*self._servers, {self._source: target})
        found: list[Expected] = [
            (item.kind, item.source_offset, item.target_offset, *item.fields) for item in report.findings
        ]
        return found, report.record_count


@pytest.fixture(scope="module")
def copies(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> Copies:
    return Copies(*Stations.of(cluster_pair))


@pytest.mark.parametrize(
    ("copied", "expected"),
    [
        pytest.param(ORIGINAL, [], id="faithful"),
        pytest.param(ORIGINAL[1:], [(Kind.LOST, 0, 0)], id="first lost"),
        pytest.param(ORIGINAL[:2] + ORIGINAL[3:], [(Kind.LOST, 2, 2)], id="tombstone lost"),
        pytest.param(ORIGINAL[:5], [(Kind.LOST, 5, None)], id="last lost"),
        pytest.param([], [(Kind.LOST, offset, None) for offset in range(6)], id="all lost"),
        pytest.param(ORIGINAL[:3] + ORIGINAL[2:], [(Kind.DUPLICATE, 3, 3)], id="repeated at once"),
        pytest.param(ORIGINAL + ORIGINAL[:1], [(Kind.DUPLICATE, None, 6)], id="repeated at the end"),
        pytest.param([*ORIGINAL[:3], ORIGINAL[4], ORIGINAL[3], ORIGINAL[5]], [(Kind.REORDERED, 3, 3)], id="swapped"),
        pytest.param([*ORIGINAL, Record(0, 9, b"a", b"b", [("c", b"d")])], [(Kind.UNEXPECTED, None, 6)], id="foreign"),
        pytest.param(altered(0, key=b"K0"), [(Kind.ALTERED, 0, 0, "key")], id="key"),
        pytest.param(altered(1, key=b""), [(Kind.ALTERED, 1, 1, "key")], id="null key made empty"),
        pytest.param(altered(4, value=b"\xff" * 99), [(Kind.ALTERED, 4, 4, "value")], id="long value cut"),
        pytest.param(altered(2, value=b""), [(Kind.ALTERED, 2, 2, "value")], id="null value made empty"),
        pytest.param(altered(3, value=None), [(Kind.ALTERED, 3, 3, "value")], id="empty value made null"),
        pytest.param(altered(4, headers=[("h", b"x" * 49)]), [(Kind.ALTERED, 4, 4, "headers")], id="header value"),
        pytest.param(
            altered(1, headers=[("h", None), ("h", b"1"), ("g", b"")]),
            [(Kind.ALTERED, 1, 1, "headers")],
            id="header order",
        ),
        pytest.param(
            altered(1, headers=[("h", b"1"), ("g", b"")]),
            [(Kind.ALTERED, 1, 1, "headers")],
            id="repeated header dropped",
        ),
        pytest.param(
            altered(1, headers=[("h", b"1"), ("h", b""), ("g", b"")]),
            [(Kind.ALTERED, 1, 1, "headers")],
            id="null header",
        ),
        pytest.param(altered(5, timestamp=1_004), [(Kind.ALTERED, 5, 5, "timestamp")], id="timestamp"),
    ],
)
def test_each_change_of_one_record_is_named_with_its_offsets(
    copies: Copies, copied: list[Record], expected: list[Expected]
) -> None:
    assert copies.check(copied) == (expected, len(ORIGINAL))


@pytest.mark.parametrize(
    ("copied", "expected"),
    [
        pytest.param(ORIGINAL[1:], [], id="older value compacted away"),
        pytest.param([record for record in ORIGINAL if record.value is not None], [], id="tombstone compacted away"),
        pytest.param(ORIGINAL[:5], [(Kind.ALTERED, 5, 0, "value", "timestamp")], id="newest value lost"),
        pytest.param(ORIGINAL[:4] + ORIGINAL[5:], [(Kind.LOST, 4, None)], id="key lost"),
        pytest.param([*ORIGINAL, Record(0, 1, b"new", b"")], [(Kind.UNEXPECTED, None, 6)], id="key too many"),
        pytest.param([*ORIGINAL, Record(0, 1, b"k2", b"v")], [(Kind.UNEXPECTED, None, 6)], id="deleted key is back"),
    ],
)
def test_of_compacted_topics_only_the_last_value_of_each_key_counts(
    copies: Copies, copied: list[Record], expected: list[Expected]
) -> None:
    assert copies.check(copied, compare_compacted)[0] == expected


def test_a_cluster_is_never_compared_with_itself(primary: EmbeddedCluster) -> None:
    with pytest.raises(SameClusterError):
        compare(primary.bootstrap_servers, primary.bootstrap_servers, {})
