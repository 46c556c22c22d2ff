from __future__ import annotations

import pytest

from heliograph.config.address import Place, locate


@pytest.mark.parametrize(
    ("key", "place", "clusters", "name"),
    [
        ("topics", Place.TOP, (), "topics"),
        ("a.bootstrap.servers", Place.CLUSTER, ("a",), "bootstrap.servers"),
        ("a->b.topics", Place.FLOW, ("a", "b"), "topics"),
        ("a.b->a.topics", Place.FLOW, ("a.b", "a"), "topics"),
        ("a->a.b.topics", Place.FLOW, ("a", "a.b"), "topics"),
        ("a.b.bootstrap.servers", Place.CLUSTER, ("a.b",), "bootstrap.servers"),
        ("x->b.topics", Place.FLOW, ("x", "b"), "topics"),
        ("a->x.topics", Place.FLOW, ("a", "x"), "topics"),
        ("c.topics", Place.TOP, (), "c.topics"),
        ("source.cluster.alias", Place.TOP, (), "source.cluster.alias"),
        ("source.consumer.client.rack", Place.CLUSTER, ("source",), "consumer.client.rack"),
    ],
)
def test_a_key_belongs_to_the_longest_alias_that_fits(
    key: str, place: Place, clusters: tuple[str, ...], name: str
) -> None:
    address = locate(key, ["a", "b", "a.b", "source"])
    assert (address.place, address.clusters, address.name) == (place, clusters, name)


@pytest.mark.parametrize(
    ("key", "option", "scope"),
    [
        ("a.group.id", "group.id", "worker"),
        ("a.consumer.group.id", "group.id", "consumer"),
        ("a.client.id", "client.id", "client"),
        ("a->b.consumer.poll.timeout.ms", "consumer.poll.timeout.ms", "source"),
        ("admin.timeout.ms", "admin.timeout.ms", "connector"),
        ("admin.listeners", "admin.listeners", "rest"),
        ("a->b.source.consumer.client.rack", "client.rack", "consumer"),
        ("a->b.target.cluster.security.protocol", "security.protocol", "client"),
        ("a->b.producer.override.compression.type", "compression.type", "producer"),
        ("a.admin.retries", "retries", "admin"),
    ],
)
def test_the_place_decides_which_option_is_meant(key: str, option: str, scope: str) -> None:
    found = locate(key, ["a", "b"]).option
    assert found is not None
    assert (found.name, found.scope.value) == (option, scope)


@pytest.mark.parametrize(
    "key", ["a.topics", "a->b.bootstrap.servers", "a.listeners", "a.consumer.override.client.rack", "zzz"]
)
def test_keys_that_mean_nothing_where_they_stand_are_unknown(key: str) -> None:
    assert not locate(key, ["a", "b"]).known


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("spark.master", "spark."),
        ("a->b.transforms.mask.type", "transforms."),
        ("transforms.mask.type", "transforms."),
        ("b.offset.storage.cleanup.policy", "offset.storage."),
        ("listeners.https.ssl.keystore.location", "listeners.https."),
        ("a->b.replication.policy.suffix", "replication.policy."),
    ],
)
def test_free_keys_belong_to_a_family(key: str, prefix: str) -> None:
    family = locate(key, ["a", "b"]).family
    assert family is not None
    assert family.prefix == prefix
