"""A broker answers for one partition with an error that nobody expects: the others flow, and it is told by its name.

The brokers are real, and so are their answers, but for the error code of one partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from heliograph.engine import lane as lane_module
from heliograph.engine import lane_session
from heliograph.engine.lane_session import LaneSession
from heliograph.kafka import producing
from heliograph.kafka.fetching import FetchResult, FetchSession
from heliograph.kafka.producing import Appended
from heliograph.model import Event, EventKind
from tests.engine.ward import Ward

pytestmark = pytest.mark.kafka

UNKNOWN_SERVER_ERROR, UNSUPPORTED_FORMAT, UNSUPPORTED_COMPRESSION = -1, 43, 76


@dataclass
class Oddity:
    """What is answered for a topic, as long as it lasts."""

    topic: str
    error_code: int


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_session, "_LONGEST_REFUSAL", 1.0, raising=False)
    monkeypatch.setattr(lane_module, "_LONGEST_REFUSAL", 1.0)
    monkeypatch.setattr(lane_module, "_FIRST_REST", 1.0)


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[LaneSession]:
    begun: list[LaneSession] = []
    start: Callable[[LaneSession], None] = LaneSession.start
    monkeypatch.setattr(LaneSession, "start", lambda session: begun.append(session) or start(session))
    return begun


def of_the_source(topic: str, error_code: int, monkeypatch: pytest.MonkeyPatch) -> Oddity:
    oddity, decode = Oddity(topic, error_code), FetchSession.decode

    def altered(session: FetchSession, body: memoryview) -> FetchResult:
        result = decode(session, body)
        result.partitions = [
            replace(item, error_code=oddity.error_code, records=memoryview(b""))
            if item.point.topic == oddity.topic
            else item
            for item in result.partitions
        ]
        return result

    monkeypatch.setattr(FetchSession, "decode", altered)
    return oddity


def of_the_target(topic: str, error_code: int, monkeypatch: pytest.MonkeyPatch) -> Oddity:
    oddity, decode = Oddity(topic, error_code), producing.decode

    def altered(body: memoryview) -> tuple[list[Appended], int]:
        answers, throttle_ms = decode(body)
        changed = [
            item._replace(error_code=oddity.error_code) if item.topic == oddity.topic else item for item in answers
        ]
        return changed, throttle_ms

    monkeypatch.setattr(producing, "decode", altered)
    return oddity


def goes_on(ward: Ward, aside: Event) -> None:
    """Nothing is lost, and what is told is that the partition was set aside and goes on."""
    assert ward.events() == [aside, Event(EventKind.RESUMED, ward.bad, 10, -1, "goes on")]
    assert ward.copied(ward.bad) == list(range(15))


def test_a_partition_that_cannot_be_read_holds_up_no_other(
    ward: Ward, sessions: list[LaneSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    oddity = of_the_source(ward.bad.topic, UNKNOWN_SERVER_ERROR, monkeypatch)
    with ward.lane_walk() as walk:
        for where in (ward.bad, ward.well):
            ward.feed(where, range(10, 15))
        walk.until_copied({ward.well: 15})
        assert len(sessions) == 1
        [aside] = walk.until_told(1)
        assert len(sessions) == 1
        assert (aside.kind, aside.source, aside.from_offset) == (EventKind.SET_ASIDE, ward.bad, 10)
        assert aside.reason == "the source refuses to give what is in it: UNKNOWN_SERVER_ERROR"
        oddity.topic = ""
        walk.until_copied({ward.bad: 15})
    goes_on(ward, aside)


def test_an_error_of_a_moment_is_not_told(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    oddity = of_the_source(ward.bad.topic, UNKNOWN_SERVER_ERROR, monkeypatch)
    with ward.lane_walk() as walk:
        for where in (ward.bad, ward.well):
            ward.feed(where, range(10, 15))
        walk.until_copied({ward.well: 15})
        oddity.topic = ""
        walk.until_copied({ward.bad: 15})
    assert ward.events() == []


@pytest.mark.parametrize(
    ("error_code", "reason", "attempts"),
    [
        (UNKNOWN_SERVER_ERROR, "the target takes nothing for now: UNKNOWN_SERVER_ERROR", 20),
        (UNSUPPORTED_FORMAT, "the target refuses it: ", 2),
        (UNSUPPORTED_COMPRESSION, "the target refuses it: ", 2),
    ],
)
def test_a_partition_that_takes_nothing_holds_up_no_other(
    ward: Ward,
    sessions: list[LaneSession],
    monkeypatch: pytest.MonkeyPatch,
    error_code: int,
    reason: str,
    attempts: int,
) -> None:
    oddity = of_the_target(ward.pairs[ward.bad].topic, error_code, monkeypatch)
    for where in (ward.bad, ward.well):
        ward.feed(where, range(10, 15))
    with ward.lane_walk() as walk:
        [aside] = walk.until_told(1)
        assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
        assert aside.reason.startswith(reason)
        walk.until_copied({ward.well: 15})
        assert len(sessions) <= attempts
        oddity.topic = ""
        walk.until_copied({ward.bad: 15})
    goes_on(ward, aside)
