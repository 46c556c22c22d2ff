"""Precedence, with the vectors of Kafka's MirrorMakerConfigTest where they apply."""

from __future__ import annotations

from heliograph.config import resolution
from heliograph.config.address import locate
from heliograph.config.properties import Entry, parse


def entries(text: str) -> dict[str, Entry]:
    return parse(text.encode(), "f").entries


def values(settings: dict[str, Entry]) -> dict[str, str]:
    return {name: entry.value for name, entry in settings.items()}


def test_cluster_keys_reach_connectors_under_their_side() -> None:
    found = values(
        resolution.connector_settings(
            entries("a.bootstrap.servers=one\nb.bootstrap.servers=two\nsecurity.protocol=SSL\nreplication.factor=4"),
            "a",
            "b",
        )
    )
    assert found["source.cluster.bootstrap.servers"] == "one"
    assert found["target.cluster.bootstrap.servers"] == "two"
    assert found["source.cluster.security.protocol"] == "SSL"
    assert found["target.producer.security.protocol"] == "SSL"
    assert found["replication.factor"] == "4"


def test_flow_keys_win_over_keys_without_a_prefix() -> None:
    text = "a->b.tasks.max=123\ntasks.max=1\nb->a.tasks.max=7"
    assert values(resolution.connector_settings(entries(text), "a", "b"))["tasks.max"] == "123"
    assert values(resolution.connector_settings(entries(text), "b", "a"))["tasks.max"] == "7"


def test_unknown_keys_do_not_reach_connectors_unless_under_the_flow() -> None:
    found = resolution.connector_settings(entries("xxx=yyy\na->b.zzz=1"), "a", "b")
    assert "xxx" not in found
    assert found["zzz"].value == "1"


def test_a_cluster_key_wins_over_a_shared_one_and_a_role_key_over_both() -> None:
    found = values(
        resolution.cluster_settings(
            entries(
                "security.protocol=SSL\na.security.protocol=PLAINTEXT\na.producer.security.protocol=SASL_SSL\n"
                "ssl.truststore.password=secret1"
            ),
            "a",
        )
    )
    assert found["security.protocol"] == "PLAINTEXT"
    assert found["admin.security.protocol"] == "PLAINTEXT"
    assert found["consumer.security.protocol"] == "PLAINTEXT"
    assert found["producer.security.protocol"] == "SASL_SSL"
    assert found["producer.ssl.truststore.password"] == "secret1"


def test_only_security_keys_are_copied_to_the_roles() -> None:
    found = resolution.cluster_settings(entries("a.request.timeout.ms=5\na.xxx=1"), "a")
    assert set(found) == {"request.timeout.ms", "xxx"}


def test_worker_keys_come_from_the_target_and_some_from_the_top() -> None:
    text = (
        "replication.policy.separator=__\noffset.storage.replication.factor=123\n"
        "b.status.storage.replication.factor=456\nb.producer.client.id=client-one\nb.security.protocol=PLAINTEXT\n"
        "b.producer.security.protocol=SASL_SSL\nssl.truststore.password=secret1\nb.xxx=yyy"
    )
    to_a = values(resolution.worker_settings(entries(text), "b", "a"))
    to_b = values(resolution.worker_settings(entries(text), "a", "b"))
    assert to_a["offset.storage.replication.factor"] == "123"
    assert "status.storage.replication.factor" not in to_a
    assert to_b["status.storage.replication.factor"] == "456"
    assert to_b["producer.client.id"] == "client-one"
    assert to_b["producer.security.protocol"] == "SASL_SSL"
    assert to_b["consumer.security.protocol"] == "PLAINTEXT"
    assert to_b["ssl.truststore.password"] == "secret1"
    assert to_a["replication.policy.separator"] == to_b["replication.policy.separator"] == "__"


def test_storage_keys_without_a_prefix_win_over_the_target_as_in_mm2() -> None:
    text = "offset.storage.topic=top\nb.offset.storage.topic=target\n"
    text += "b.offset.flush.timeout.ms=1\noffset.flush.timeout.ms=2"
    found = values(resolution.worker_settings(entries(text), "a", "b"))
    assert found["offset.storage.topic"] == "top"
    assert found["offset.flush.timeout.ms"] == "1"


def test_worker_keys_that_mm2_drops_are_honoured_below_all_others() -> None:
    text = "exactly.once.source.support=disabled"
    assert "exactly.once.source.support" in resolution.worker_settings(entries(text), "a", "b")
    text += "\nb.exactly.once.source.support=preparing"
    assert values(resolution.worker_settings(entries(text), "a", "b"))["exactly.once.source.support"] == "preparing"
    text += "\na->b.exactly.once.source.support=enabled"
    assert values(resolution.worker_settings(entries(text), "a", "b"))["exactly.once.source.support"] == "enabled"


def client(text: str, side: str, role: str) -> dict[str, str]:
    return values(resolution.client_settings(resolution.connector_settings(entries(text), "a", "b"), side, role))


def test_client_layers_from_weak_to_strong() -> None:
    text = "consumer.client.rack=top"
    assert client(text, "source", "consumer")["client.rack"] == "top"
    text += "\na->b.consumer.client.rack=flow"
    assert client(text, "source", "consumer")["client.rack"] == "flow"
    text += "\na.consumer.client.rack=cluster"
    assert client(text, "source", "consumer")["client.rack"] == "cluster"
    text += "\na->b.source.consumer.client.rack=side"
    assert client(text, "source", "consumer")["client.rack"] == "side"
    text += "\na->b.consumer.override.client.rack=override"
    assert client(text, "source", "consumer")["client.rack"] == "override"
    assert client(text, "target", "consumer")["client.rack"] == "flow"


def test_plain_cluster_keys_are_below_role_keys() -> None:
    text = "a.request.timeout.ms=1\nrequest.timeout.ms=0"
    assert client(text, "source", "admin")["request.timeout.ms"] == "1"
    assert client(text, "target", "admin")["request.timeout.ms"] == "0"
    assert client(text + "\nadmin.request.timeout.ms=2", "source", "admin")["request.timeout.ms"] == "2"


def test_a_flow_may_reach_a_cluster_under_another_address() -> None:
    text = "a.bootstrap.servers=one:1\na->b.source.cluster.bootstrap.servers=proxy:1"
    assert client(text, "source", "consumer")["bootstrap.servers"] == "one:1"
    text += "\na->b.source.consumer.bootstrap.servers=proxy:1"
    assert client(text, "source", "consumer")["bootstrap.servers"] == "proxy:1"


def test_producer_overrides_reach_the_producer_of_the_target() -> None:
    text = "b.producer.compression.type=gzip\na->b.producer.override.compression.type=zstd"
    assert client(text, "target", "producer")["compression.type"] == "zstd"
    assert client(text, "source", "producer") == {}


def renamed(text: str) -> dict[str, str]:
    found = entries(text)
    return values(resolution.with_new_names(found, {key: locate(key, ["a", "b"]) for key in found}))


def test_old_names_count_under_the_new_ones() -> None:
    assert renamed("a->b.topics.blacklist=t\ngroups.blacklist=g\nconfig.properties.blacklist=p") == {
        "a->b.topics.exclude": "t",
        "groups.exclude": "g",
        "config.properties.exclude": "p",
    }


def test_the_new_name_wins_over_the_old_at_the_same_level_only() -> None:
    assert renamed("topics.exclude=new\ntopics.blacklist=old\na->b.topics.blacklist=flow") == {
        "topics.exclude": "new",
        "a->b.topics.exclude": "flow",
    }
