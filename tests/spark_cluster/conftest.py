"""One Spark cluster, and a pair of guarded Kafka clusters, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import sasl_plain
from tests.spark_cluster.guarded import CANARIES
from tests.spark_cluster.standalone import StandaloneCluster, standalone_cluster


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A master and two workers of three cores: four lanes need both, and one can take most of the other's."""
    with standalone_cluster(tmp_path_factory.mktemp("spark-cluster"), cores=3) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def clusters() -> Iterator[Mapping[str, EmbeddedCluster]]:
    """Two clusters, each with its own password for alice."""
    specs = [
        ClusterSpec(name, listeners=[sasl_plain("SASL", {"alice": word})], heap="256m")
        for name, word in CANARIES.items()
    ]
    with running_clusters(*specs) as running:
        yield dict(zip(CANARIES, running, strict=True))
