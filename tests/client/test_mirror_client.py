from __future__ import annotations

import re
import subprocess
import sys

import pytest

from heliograph.client import ClusterError, MirrorClient, OffsetAndMetadata, TopicPartition
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import AuthenticationFailed, BrokerRefused, BrokerUnavailable
from heliograph.kafka.records import Record
from heliograph.policy.replication import DefaultReplicationPolicy
from tests.client.conftest import CHECKPOINTS, checkpoint_record, write
from tests.zoo.topics import create_topic
from tests.zoo.transactions import abort_open, leave_open

BILLING = {
    TopicPartition("west.orders", 0): OffsetAndMetadata(110, "second"),
    TopicPartition("west.orders", 1): OffsetAndMetadata(31, ""),
}
_HEAVY = ("pyspark", "pyarrow", "pandas", "numpy", "py4j", "heliograph.engine", "heliograph.control", "heliograph.cli")


def test_importing_it_imports_nothing_heavy() -> None:
    program = "import sys, heliograph.client; print('\\n'.join(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "heliograph.client.mirror_client" in modules
    assert [name for name in modules if f"{name}.".startswith(tuple(f"{heavy}." for heavy in _HEAVY))] == []


@pytest.mark.kafka
class TestTopics:
    def test_names_tell_where_records_come_from(self, settings: dict[str, str]) -> None:
        with MirrorClient(settings) as client:
            assert isinstance(client.replication_policy, DefaultReplicationPolicy)
            mirrored = {"west.heartbeats", "west.north.heartbeats", "north.heartbeats"}
            assert client.heartbeat_topics() == {"heartbeats", *mirrored}
            assert client.checkpoint_topics() >= {"west.checkpoints.internal"}
            assert "checkpoints.internal" not in client.checkpoint_topics()
            assert client.upstream_clusters() == {"west", "north"}

    def test_the_shortest_way_counts(self, settings: dict[str, str]) -> None:
        with MirrorClient(settings) as client:
            assert [client.replication_hops(alias) for alias in ("west", "north", "edge")] == [1, 1, None]

    def test_remote_topics_are_all_or_those_of_one_cluster(self, settings: dict[str, str]) -> None:
        data = {"west.orders", "west.parcels", "west.north.orders", "west.heartbeats", "west.north.heartbeats"}
        with MirrorClient(settings) as client:
            assert client.remote_topics("west") == data
            assert client.remote_topics("nowhere") == set()
            assert client.remote_topics() >= {*data, "north.heartbeats"}
            assert not client.remote_topics() & {"orders", "heartbeats", "mm2-offsets.west.internal"}

    def test_a_closed_client_connects_again_when_asked(self, settings: dict[str, str]) -> None:
        client = MirrorClient(settings)
        client.close()
        assert client.heartbeat_topics()
        client.close()
        client.close()


@pytest.mark.kafka
class TestOffsets:
    def test_of_one_group_the_newest_of_each_partition(self, settings: dict[str, str]) -> None:
        with MirrorClient(settings) as client:
            assert client.remote_consumer_offsets("billing", "west") == BILLING
            assert client.remote_consumer_offsets("nobody", "west") == {}

    def test_of_the_groups_whose_whole_name_fits_a_pattern(self, settings: dict[str, str]) -> None:
        with MirrorClient(settings) as client:
            found = client.remote_consumer_offsets(re.compile("billing|ship"), "west")
            assert found == {"billing": BILLING}
            assert set(client.remote_consumer_offsets(re.compile("bill.*"), "west")) == {"billing", "billing-eu"}

    def test_no_checkpoints_topic_is_an_error_that_names_it(self, settings: dict[str, str]) -> None:
        with (
            MirrorClient(settings) as client,
            pytest.raises(BrokerRefused, match=r"nowhere\.checkpoints\.internal"),
        ):
            client.remote_consumer_offsets("billing", "nowhere")

    def test_the_names_of_the_policy_are_used(self, edge: EmbeddedCluster, settings: dict[str, str]) -> None:
        topic = create_topic(edge.bootstrap_servers, "dashed_checkpoints_internal")
        write(edge, topic, [checkpoint_record(CHECKPOINTS[0])])
        with MirrorClient(settings | {"replication.policy.separator": "_"}) as client:
            assert len(client.remote_consumer_offsets("billing", "dashed")) == 1

    def test_an_answer_is_complete_or_an_error(self, edge: EmbeddedCluster, settings: dict[str, str]) -> None:
        where = TopicPartition(create_topic(edge.bootstrap_servers, "open.checkpoints.internal"), 0)
        write(edge, where.topic, [checkpoint_record(CHECKPOINTS[0])])
        name = leave_open(edge.bootstrap_servers, where, count=1)
        write(edge, where.topic, [checkpoint_record(CHECKPOINTS[-1]), Record(0, 0, b"not", b"ours")])
        with MirrorClient(settings) as client:
            with pytest.raises(BrokerUnavailable, match="open transaction"):
                client.remote_consumer_offsets("billing", "open", timeout=0.3)
            abort_open(edge.bootstrap_servers, name)
            found = client.remote_consumer_offsets("billing", "open")
            assert found == {TopicPartition("west.orders", 0): OffsetAndMetadata(110, "second")}


@pytest.mark.kafka
class TestAccess:
    def login(self, edge: EmbeddedCluster, password: str) -> dict[str, str]:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "bootstrap.servers": edge.addresses("SASL"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{module} required username="alice" password="{password}";',
        }

    def test_a_login_is_used_for_questions_and_for_reading(self, edge: EmbeddedCluster) -> None:
        with MirrorClient(self.login(edge, "s3cret")) as client:
            assert client.replication_hops("west") == 1
            assert client.remote_consumer_offsets("billing", "west") == BILLING

    def test_a_wrong_login_is_told(self, edge: EmbeddedCluster) -> None:
        with MirrorClient(self.login(edge, "wrong")) as client:
            with pytest.raises(AuthenticationFailed, match="login refused"):
                client.heartbeat_topics()
            with pytest.raises(AuthenticationFailed, match="login refused"):
                client.remote_consumer_offsets("billing", "west")

    def test_a_cluster_that_is_not_there_is_told(self) -> None:
        with MirrorClient({"bootstrap.servers": "127.0.0.1:1"}) as client:
            with pytest.raises(ClusterError, match="cannot connect"):
                client.upstream_clusters()
            with pytest.raises(ClusterError, match="cannot connect"):
                client.remote_consumer_offsets("billing", "west", timeout=5)
