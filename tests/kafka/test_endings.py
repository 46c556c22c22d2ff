"""A transaction whose end a partition cannot be told keeps its id busy; what it wrote elsewhere counts all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.errors import BrokerUnavailable, ClusterError, Fenced
from heliograph.kafka import endings, transaction
from heliograph.kafka.endings import Endings, describe_ids
from heliograph.kafka.network import NOT_ENOUGH_REPLICAS
from heliograph.kafka.patience import Patience
from heliograph.kafka.producing import Batch
from heliograph.kafka.replicas import too_thin
from heliograph.kafka.transaction import Gate, TransactionalProducer, take_all, take_usable
from heliograph.model import TopicPartition
from tests.chaos.forms import LONG
from tests.checker.stock_reader import read_committed
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.thinned import Thinned, thinned_cluster
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka
TIMEOUT_MS = 60_000


FIRST = pytest.param(1, id="first generation", marks=LONG)
SECOND = pytest.param(2, id="second generation")


@pytest.fixture(scope="module", params=[SECOND, FIRST])
def thinned(request: pytest.FixtureRequest) -> Iterator[Thinned]:
    with thinned_cluster("endings", {"transaction.version": request.param}) as made:
        yield made


@pytest.fixture(autouse=True)
def is_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "LASTING_SECONDS", 1.0)
    monkeypatch.setattr(endings, "_SOON_SECONDS", 0.0)
    monkeypatch.setattr(transaction, "Patience", lambda: Patience(4.0))


def write(connected: raw.Connected, producer: TransactionalProducer, where: TopicPartition) -> int:
    """Three records in the producer's transaction; the error code of the answer."""
    producer.join([where])
    batch = raw.batch_of(numbered(3), stamp=producer.stamp, sequence=producer.sequences.take(where, 3))
    [answer] = raw.send(*connected, [Batch(*where, batch)], producer)
    return answer.error_code


def visible(thinned: Thinned, where: TopicPartition) -> int:
    return sum(1 for _ in read_committed(thinned.remaining, where))


def test_what_is_refused_keeps_its_id_busy_and_others_are_taken_meanwhile(thinned: Thinned) -> None:
    bad, well = thinned.create_pair(name := fresh_name("refused"))
    with raw.network(thinned.remaining, bad.topic, well.topic) as connected:
        network, left = connected[1], Endings()
        with thinned.without_second(bad.topic):
            [producer] = take_all(network, [f"{name}-a"], TIMEOUT_MS)
            assert [write(connected, producer, where) for where in (well, bad)] == [0, NOT_ENOUGH_REPLICAS]
            taken = take_usable(network, [f"{name}-a", f"{name}-b"], TIMEOUT_MS, left, [well])
            assert [item.transactional_id for item in taken] == [f"{name}-b"]
            assert left.untold == {f"{name}-a": {bad}}
            assert left.lasting()[f"{name}-a"].state == "PrepareAbort"
            with pytest.raises(ClusterError, match=r"taken over|CONCURRENT_TRANSACTIONS"):
                producer.end(commit=True)
            again = Endings(left.lasting())  # as a lane gets it from its driver: it need not wait
            assert take_usable(network, [f"{name}-a"], TIMEOUT_MS, again, [well]) == []
            with pytest.raises(BrokerUnavailable, match="CONCURRENT_TRANSACTIONS"):
                take_usable(network, [f"{name}-a"], TIMEOUT_MS, Endings(left.lasting()), [bad])
        take_all(network, [f"{name}-a"], TIMEOUT_MS)  # waits until the coordinator has told the partition
        assert len(take_usable(network, [f"{name}-a"], TIMEOUT_MS, left, [well])) == 1
        assert left.untold == {}
        with pytest.raises(Fenced):
            producer.end(commit=True)
    assert (visible(thinned, well), visible(thinned, bad)) == (0, 0)


def test_what_is_committed_counts_although_not_all_can_be_told(thinned: Thinned) -> None:
    bad, well = thinned.create_pair(name := fresh_name("committed"))
    with raw.network(thinned.remaining, bad.topic, well.topic) as connected:
        network, left = connected[1], Endings()
        [producer] = take_all(network, [name], TIMEOUT_MS)
        assert [write(connected, producer, where) for where in (well, bad)] == [0, 0]
        with thinned.without_second(bad.topic):
            producer.end(commit=True)
            assert take_usable(network, [name], TIMEOUT_MS, left, [well]) == []
            assert left.lasting()[name].state == "PrepareCommit"
            assert left.partitions == {bad}
            assert (visible(thinned, well), visible(thinned, bad)) == (3, 0)
        take_all(network, [name], TIMEOUT_MS)
        left.look_again(network)
        assert left.partitions == set()
    assert visible(thinned, bad) == 3


def test_a_transaction_that_is_open_is_never_left_alone(thinned: Thinned, monkeypatch: pytest.MonkeyPatch) -> None:
    _, well = thinned.create_pair(name := fresh_name("open"))
    with raw.network(thinned.remaining, well.topic) as connected:
        [producer] = take_all(connected[1], [name], TIMEOUT_MS)
        write(connected, producer, well)
        left = Endings()
        left.begin()
        assert describe_ids(connected[1], [name, "nobody's"]).keys() == {name}
        with monkeypatch.context() as patched:
            patched.setattr(endings, "LASTING_SECONDS", 0.0)
            assert not left.leave(connected[1], {name}, ())
        [again] = take_usable(connected[1], [name], TIMEOUT_MS, left, ())
        assert again.stamp.epoch > producer.stamp.epoch


def test_whoever_takes_the_gate_locks_out_those_before(thinned: Thinned) -> None:
    with raw.network(thinned.remaining) as (_, network):
        first = Gate(network, fresh_name("gate"), TIMEOUT_MS)
        first.check()
        first.check()
        second = Gate(network, first._name, TIMEOUT_MS)
        with pytest.raises(Fenced):
            first.check()
        second.check()


def test_it_is_told_which_partitions_lack_replicas(thinned: Thinned) -> None:
    bad, well = thinned.create_pair(fresh_name("lacking"))
    spared = TopicPartition(thinned.create(fresh_name("spared"), [[1, 2]]), 0)
    both = {bad, well, spared}
    with raw.network(thinned.remaining, *(where.topic for where in both)) as (_, network):
        assert too_thin(network, both) == {}
        with thinned.without_second(bad.topic, spared.topic):
            network.refresh({where.topic for where in both})
            told = "has 1 of the 2 replicas in sync that min.insync.replicas asks for"
            assert too_thin(network, both) == {bad: told}
            assert too_thin(network, {well}) == {}
        network.refresh({where.topic for where in both})
        assert too_thin(network, both) == {}
