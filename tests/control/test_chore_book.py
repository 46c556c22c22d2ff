from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from heliograph.control import chore_book
from heliograph.control.chore_book import ChoreBook
from heliograph.control.chores import ChoreReport
from heliograph.control.ledger_tail import LedgerTail, read_tail
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import reading
from tests.control.test_standing import flow_to
from tests.zoo import raw

pytestmark = pytest.mark.kafka


@pytest.fixture
def flow(backup: EmbeddedCluster) -> FlowDriver:
    return flow_to(backup.bootstrap_servers)


@pytest.fixture
def on_exit() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def tail_of(flow: FlowDriver) -> LedgerTail:
    with raw.network(",".join(flow.settings.target.bootstrap_servers)) as (loop, network):
        return read_tail(loop, network, flow.settings.topics, int(time.time() * 1000))


def written(flow: FlowDriver) -> int:
    """How often something was noted."""
    topic = flow.settings.topics.state
    with raw.network(",".join(flow.settings.target.bootstrap_servers), topic) as (_, network):
        return reading.list_offsets(network, topic, {0: reading.LATEST})[0]


def test_every_change_for_the_worse_or_the_better_is_noted_at_once(flow: FlowDriver, on_exit: ExitStack) -> None:
    groups, beats = ChoreReport("group offsets", 1.0), ChoreReport("heartbeats", 1.0)
    book = on_exit.enter_context(ChoreBook(flow, lambda: [groups, beats]))
    book.write()
    assert written(flow) == 0  # nothing has been done yet
    groups.succeeded("20 groups", 0.1)
    book.write()
    groups.failed("backup broker: gone")
    beats.succeeded("", 0.1)
    book.write()
    states = {state.name: state for state in tail_of(flow).chores}
    assert (states["group offsets"].failure, states["heartbeats"].failure) == ("backup broker: gone", "")
    assert states["group offsets"].failing_since_ms == groups.failing_since_ms > 0
    assert states["group offsets"].summary == "20 groups"
    groups.succeeded("21 groups", 0.1)
    book.write()
    states = {state.name: state for state in tail_of(flow).chores}
    assert (states["group offsets"].failure, states["group offsets"].summary) == ("", "21 groups")
    assert written(flow) == 3


def test_what_stays_the_same_is_noted_now_and_then(
    flow: FlowDriver, on_exit: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = ChoreReport("heartbeats", 1.0)
    beats.succeeded("", 0.1)
    book = on_exit.enter_context(ChoreBook(flow, lambda: [beats]))
    book.write()
    book.write()
    assert written(flow) == 1
    monkeypatch.setattr(chore_book, "_REPEAT_SECONDS", 0.0)
    book.write()
    assert written(flow) == 2
