"""A cluster of two brokers, of which the second comes and goes: partitions that need both take nothing meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.network import NOT_ENOUGH_REPLICAS
from heliograph.kafka.producing import Batch
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import await_leaders, fresh_name

_SETTINGS = {"auto.leader.rebalance.enable": "false"}  # so coordinators stay where they are
_NEEDS_BOTH = {"min.insync.replicas": "2"}


class Thinned:
    """The cluster, and who must be asked while the second broker is away."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.remaining = cluster.brokers[0].spec.listeners[0].address
        self._canary = self.create(fresh_name("canary"), [[1, 2]], _NEEDS_BOTH)

    def create(self, name: str, homes: Sequence[Sequence[int]], settings: Mapping[str, str] | None = None) -> str:
        """A topic, of which each partition has its replicas on these brokers."""
        placed = {number: list(brokers) for number, brokers in enumerate(homes)}
        with closing(KafkaAdminClient(bootstrap_servers=self.remaining)) as admin:
            admin.create_topics([NewTopic(name, replica_assignments=placed, topic_configs=dict(settings or {}))])
        await_leaders(self.remaining, name, len(placed))
        return name

    def create_pair(self, name: str) -> tuple[TopicPartition, TopicPartition]:
        """Two topics led by the first broker: one that needs both brokers to take anything, and one that does not."""
        bad = self.create(f"bad.{name}", [[1, 2]], _NEEDS_BOTH)
        well = self.create(f"well.{name}", [[1]])
        self.await_replicas(bad)
        return TopicPartition(bad, 0), TopicPartition(well, 0)

    def takes_anything(self) -> bool:
        """Whether what needs both brokers can be written to."""
        with raw.network(self.remaining, self._canary) as (loop, network):
            [answer] = raw.send(loop, network, [Batch(self._canary, 0, raw.batch_of(numbered(1)))])
        assert answer.error_code in (0, NOT_ENOUGH_REPLICAS)
        return not answer.error_code

    def await_replicas(self, *topics: str) -> None:
        """Wait until all replicas of these topics are in sync."""

        def is_whole() -> bool:
            with raw.network(self.remaining, *topics) as (_, network):
                partitions = [TopicPartition(name, number) for name in topics for number in network.partitions(name)]
                return not network.lacking(partitions)

        wait_until(is_whole, "all replicas to be in sync")

    def lose_second(self) -> None:
        """Stop the second broker, and wait until what needs it takes nothing more."""
        self.cluster.brokers[1].stop()
        wait_until(lambda: not self.takes_anything(), "partitions to lack a replica")

    def bring_second(self, *topics: str) -> None:
        """Start the second broker again, and wait until it has caught up."""
        self.cluster.brokers[1].start()
        self.cluster.wait_until_ready()
        self.await_replicas(self._canary, *topics)

    @contextmanager
    def without_second(self, *topics: str) -> Iterator[None]:
        """Let something happen while the second broker is away."""
        self.lose_second()
        try:
            yield
        finally:
            self.bring_second(*topics)


@contextmanager
def thinned_cluster(alias: str, features: Mapping[str, int] | None = None) -> Iterator[Thinned]:
    """Start one; all transactions are coordinated by the first broker, as far as it is up to us."""
    spec = ClusterSpec(
        alias, brokers=2, separate_controller=True, settings=_SETTINGS, features=dict(features or {}), heap="384m"
    )
    with running_clusters(spec) as [cluster]:
        made = Thinned(cluster)
        with raw.network(made.remaining) as (_, network):
            network.coordinators(["any"], 1)  # which creates the topic of transactions
        with made.without_second():
            pass
        made.await_replicas("__transaction_state")
        yield made
