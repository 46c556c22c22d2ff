from __future__ import annotations

import time

import pytest

from heliograph.control.lag_watch import LagWatch, PartitionLag
from heliograph.model import TopicPartition


class NoFlow:
    """A flow that nobody asks."""


@pytest.fixture
def watch() -> LagWatch:
    """A watch that has seen one partition behind and one level."""
    made = LagWatch(NoFlow())  # type: ignore[arg-type]
    made._lags = {
        TopicPartition("t", 0): PartitionLag(position=9, end=20, records=10, seconds=3.0),
        TopicPartition("t", 1): PartitionLag(position=9, end=10, records=0, seconds=0.0),
    }
    return made


def test_a_fresh_look_is_believed(watch: LagWatch) -> None:
    assert [lag.seconds for lag in watch.lags().values()] == [3.0, 0.0]


def test_while_the_source_cannot_be_asked_everything_gets_older_and_nothing_looks_healthy(watch: LagWatch) -> None:
    watch._looked_at = time.monotonic() - 60
    seconds = [lag.seconds for lag in watch.lags().values()]
    assert seconds == [pytest.approx(63, abs=1), pytest.approx(60, abs=1)]
    assert watch.seconds_since_look() == pytest.approx(60, abs=1)
    watch._looked_at -= 100
    assert all(later.seconds > before for later, before in zip(watch.lags().values(), seconds, strict=True))


def test_where_records_do_not_tell_their_age_it_is_at_least_as_long_as_we_have_seen_them_wait(watch: LagWatch) -> None:
    where = TopicPartition("t", 0)
    assert watch._at_least_as_seen({}, {where: 10}, now=100.0) == {where: 0.0}
    assert watch._at_least_as_seen({}, {where: 10}, now=107.0) == {where: 7.0}
    assert watch._at_least_as_seen({where: 50.0}, {where: 10}, now=108.0) == {where: 50.0}
    assert watch._at_least_as_seen({}, {where: 11}, now=109.0) == {where: 0.0}  # it has moved
    assert watch._at_least_as_seen({}, {}, now=110.0) == {}
    assert watch._at_least_as_seen({}, {where: 11}, now=120.0) == {where: 0.0}  # it was level meanwhile
