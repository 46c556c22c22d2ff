"""One Spark cluster for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark_cluster.standalone import StandaloneCluster, standalone_cluster


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A master and two workers of three cores: four lanes need both, and one can take most of the other's."""
    with standalone_cluster(tmp_path_factory.mktemp("spark-cluster"), cores=3) as cluster:
        yield cluster
