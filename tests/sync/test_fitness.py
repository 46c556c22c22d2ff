"""What a target's topic would refuse."""

from __future__ import annotations

import pytest

from heliograph.config.problem import Severity
from heliograph.sync.fitness import misfits

FOREVER = str(2**63 - 1)
DEFAULTS: dict[str, str | None] = {
    "max.message.bytes": "1048588",
    "min.insync.replicas": "1",
    "message.timestamp.type": "CreateTime",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": FOREVER,
    "retention.ms": "604800000",
    "cleanup.policy": "delete",
}


def findings(source: dict[str, str | None], target: dict[str, str | None], copies: int = 1) -> list[tuple[str, str]]:
    found = misfits("t", {**DEFAULTS, **source}, {**DEFAULTS, **target}, copies)
    return [(finding.severity.value, finding.hint.split("=")[0]) for finding in found]


def test_equal_settings_fit() -> None:
    assert findings({}, {}) == []


def test_unknown_settings_are_not_judged() -> None:
    assert list(misfits("t", {}, {}, 1)) == []


@pytest.mark.parametrize(
    ("source", "target", "copies", "expected"),
    [
        ({}, {"max.message.bytes": "1000"}, 1, [("error", "set max.message.bytes")]),
        ({"max.message.bytes": "1000"}, {}, 1, []),
        ({}, {"min.insync.replicas": "2"}, 1, [("error", "lower min.insync.replicas or add replicas")]),
        ({}, {"min.insync.replicas": "2"}, 2, []),
        ({}, {"min.insync.replicas": "2"}, -1, []),
        (
            {},
            {"message.timestamp.after.max.ms": "1000"},
            1,
            [("warning", "raise message.timestamp.after.max.ms on the target")],
        ),
        (
            {"message.timestamp.after.max.ms": None},
            {},
            1,
            [("warning", "raise message.timestamp.after.max.ms on the target")],
        ),
        ({"message.timestamp.after.max.ms": "0"}, {"message.timestamp.after.max.ms": "0"}, 1, []),
        (
            {},
            {"message.timestamp.before.max.ms": "604799999"},
            1,
            [("warning", "raise message.timestamp.before.max.ms on the target")],
        ),
        ({}, {"message.timestamp.before.max.ms": "604800000"}, 1, []),
        (
            {"retention.ms": "-1"},
            {"message.timestamp.before.max.ms": "604800000"},
            1,
            [("warning", "raise message.timestamp.before.max.ms on the target")],
        ),
        (
            {"cleanup.policy": "compact,delete"},
            {"message.timestamp.before.max.ms": "604800000"},
            1,
            [("warning", "raise message.timestamp.before.max.ms on the target")],
        ),
        (
            {},
            {"message.timestamp.type": "LogAppendTime", "message.timestamp.after.max.ms": "1"},
            1,
            [("warning", "set message.timestamp.type")],
        ),
    ],
)
def test_what_the_target_would_refuse(
    source: dict[str, str | None],
    target: dict[str, str | None],
    copies: int,
    expected: list[tuple[str, str]],
) -> None:
    assert findings(source, target, copies) == expected


def test_a_finding_reads_as_a_line() -> None:
    (finding,) = misfits("a.t", {"max.message.bytes": "9"}, {"max.message.bytes": "5"}, 1)
    assert finding.severity is Severity.ERROR
    assert str(finding) == (
        "error: a.t: the source takes records of up to 9 bytes, the target only 5 "
        "(set max.message.bytes=9 on the target)"
    )
