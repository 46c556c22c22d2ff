"""Trying out a chain: each stage tells what it did."""

from __future__ import annotations

import json
from typing import Any

from heliograph.transforms.chain import ChainSpec, PredicateSpec, StageSpec
from heliograph.transforms.formats.json_text import write_plain
from heliograph.transforms.message import Header
from heliograph.transforms.trial import Ending, Step, Trial, TrialBench
from tests.transforms.formats.registry_server import running_registry

MASK = StageSpec("mask", "MaskPII", {"fields": "email"})
ROUTE = StageSpec("route", "RegexRouter", {"regex": "a\\.(.*)", "replacement": "masked.$1"})
DROP = StageSpec("drop", "Filter", {}, predicate="test")
KEEP = StageSpec("keep", "Filter", {}, predicate="test", negate=True)
TEST = {"test": PredicateSpec("FieldMatches", {"path": "test", "value": "true", "if.missing": "false"})}


def tried(*stages: StageSpec, value: Any) -> Trial:
    bench = TrialBench(ChainSpec(stages, TEST))
    data = value if isinstance(value, bytes | None) else write_plain(value)
    return bench.run(bench.message("a.orders", 3, 5, b"k", data, [Header("h", b"1")], "orders", 77))


def test_a_record_that_passes_is_seen_before_and_after() -> None:
    trial = tried(MASK, DROP, ROUTE, value={"email": "ada@example.com"})
    assert (trial.source_topic, trial.source_partition, trial.offset) == ("orders", 3, 77)
    assert trial.ending is Ending.PASSED
    assert trial.before == ("a.orders", 3, 5, "k", {"email": "ada@example.com"}, (Header("h", b"1"),))
    assert trial.after == ("masked.orders", 3, 5, "k", {"email": "ad***********om"}, (Header("h", b"1"),))
    assert trial.before.changes_to(trial.after) == ["topic", "value"]
    assert trial.steps == [
        Step("mask", "MaskPII", "changed value"),
        Step("drop", "Filter", "skipped, since FieldMatches is false"),
        Step("route", "RegexRouter", "changed topic"),
    ]


def test_a_dropped_record_goes_no_further() -> None:
    trial = tried(DROP, ROUTE, value={"test": True})
    assert (trial.ending, trial.after, trial.steps) == (Ending.DROPPED, None, [Step("drop", "Filter", "dropped it")])
    trial = tried(KEEP, value={"test": True})
    assert (trial.ending, trial.steps) == (
        Ending.PASSED,
        [Step("keep", "Filter", "skipped, since FieldMatches is true")],
    )


def test_a_failed_record_names_stage_and_cause() -> None:
    trial = tried(ROUTE, MASK, DROP, value=b"no JSON")
    assert (trial.ending, trial.after, len(trial.steps)) == (Ending.FAILED, None, 2)
    assert trial.steps[1].what.startswith("failed: MaskPII: the value is not a JSON object")


def test_a_predicate_can_fail_too() -> None:
    strict = {"test": PredicateSpec("FieldMatches", {"path": "test", "value": "true", "if.missing": "fail"})}
    bench = TrialBench(ChainSpec((DROP,), strict))
    trial = bench.run(bench.message("a.orders", 0, 0, None, b"{}", [], "orders", 0))
    assert trial.ending is Ending.FAILED
    assert "has no field test" in trial.steps[0].what


def test_one_and_true_are_not_the_same() -> None:
    before = tried(value={"n": 1}).before
    assert before.changes_to(before._replace(value={"n": True})) == ["value"]
    assert before.changes_to(before._replace(value={"n": 1})) == []


def test_what_cannot_be_written_fails_at_the_end() -> None:
    settings = {"field": "at", "target.type": "Timestamp", "format": "", "unix.precision": "milliseconds"}
    dates = StageSpec("dates", "TimestampConverter$Value", {**settings, "replace.null.with.default": "true"})
    trial = tried(dates, value={"at": 5})
    assert (trial.ending, trial.after) == (Ending.FAILED, None)
    assert trial.steps[-1].stage == "writing"
    assert trial.steps[-1].what.startswith("failed: ")


def test_no_schema_is_registered() -> None:
    schema = {"type": "record", "name": "Person", "fields": [{"name": "email", "type": "long"}]}
    with running_registry() as registry:
        number = registry.add("orders-value", json.dumps(schema))
        bench = TrialBench(ChainSpec((MASK,), formats={"schema.registry.url": registry.url}))
        data = b"\0" + number.to_bytes(4, "big") + b"\xc0\xc4\x07"
        trial = bench.run(bench.message("orders", 0, 0, None, data, [], "orders", 0))
        assert not any(asked.startswith("POST") and asked.endswith("/versions") for asked in registry.requests)
    assert trial.ending is Ending.PASSED
    assert trial.after is not None
    assert trial.after.value.get("email") == "61*28"
    assert trial.steps[-1].what.startswith("not tried, as that may register a schema: ")
