"""One mirror for most of the tests: a flow for each variant, all between the same clusters.

Names of positions, ledger and other topics of the mirror follow from the aliases, so that the flows share nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import tls
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.conformance.at_once import AtOnce
from tests.conformance.route import IDENTITY, Route
from tests.conformance.settings import EVERY_SECOND, chosen, flow_names, heartbeats
from tests.conformance.site import Site, close_clients
from tests.embedded.certificates import Authority

_TOPICS_A_ROUTE = 6


class Vault:
    """A cluster that clients reach over TLS."""

    def __init__(self, cluster: EmbeddedCluster, trusted: Path) -> None:
        self.cluster = cluster
        self.trusted = trusted

    def settings(self, alias: str) -> dict[str, str]:
        """How a mirror gets there."""
        return {
            f"{alias}.bootstrap.servers": self.cluster.addresses("TLS"),
            f"{alias}.security.protocol": "SSL",
            f"{alias}.ssl.truststore.type": "PEM",
            f"{alias}.ssl.truststore.location": str(self.trusted),
        }


@pytest.fixture(scope="package", autouse=True)
def _clients() -> Iterator[None]:
    """Connections that all tests share."""
    yield
    close_clients()


@pytest.fixture(scope="package")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """The target of the TLS variant."""
    authority = Authority(tmp_path_factory.mktemp("vault"), "vault")
    listener = tls("TLS", authority.issue("broker", ["127.0.0.1"]))
    with running_clusters(ClusterSpec("vault", listeners=[listener], heap="256m")) as (cluster,):
        yield Vault(cluster, authority.trusted)
        close_clients()


@pytest.fixture(scope="package")
def routes(
    primary: EmbeddedCluster, backup: EmbeddedCluster, vault: Vault, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Route]]:
    """All ways of the mirror, which runs."""
    clusters: dict[str, EmbeddedCluster] = {}

    def site(alias: str, cluster: EmbeddedCluster) -> Site:
        clusters[alias] = cluster
        return Site(alias, cluster.bootstrap_servers)

    def route(label: str, cluster: EmbeddedCluster = backup, **kind: bool) -> Route:
        return Route(label, site(label, primary), site(f"{label}-copy", cluster), **kind)

    exact = route("exact", is_two_way=True)
    ways = {
        "at least once": route("loose", has_heartbeats=True, is_exactly_once=False),
        "exactly once": exact,
        "identity": route("same", keeps_names=True),
        "tls": route("safe", cluster=vault.cluster),
        "latest": route("late"),
    }
    options = {
        **EVERY_SECOND,
        **chosen(*ways.values()),
        **{f"{item.label}->{item.label}-copy.sync.group.offsets.enabled": "true" for item in ways.values()},
        **heartbeats(ways["at least once"]),
        **vault.settings("safe-copy"),
        "offset.lag.max": "10",
        "loose-copy.exactly.once.source.support": "disabled",
        "same->same-copy.replication.policy.class": IDENTITY,
        "late.consumer.auto.offset.reset": "latest",
        # Settings that only some tests look at.
        "loose->loose-copy.emit.offset-syncs.enabled": "false",
        "exact->exact-copy.offset.lag.max": "0",
        "exact->exact-copy.offset-syncs.topic.location": "target",
        "same->same-copy.offset-syncs.topic.location": "source",
        "safe->safe-copy.use.defaults.from": "source",
    }
    folder = tmp_path_factory.mktemp("conformance")
    settings = folder / "mm2.properties"
    write_settings(settings, clusters, flow_names(*ways.values()), options)
    mirror = MirrorProcess(settings, folder / "mirror.log")
    try:
        begun = [(way, way.begin()) for name, way in ways.items() if name != "latest"]
        for name in ("at least once", "exactly once", "identity"):
            ways[name].prepare(_TOPICS_A_ROUTE)
        for way, topic in begun:
            way.await_begun(topic)
        yield {**ways, "transactions": replace(exact, is_transactional=True)}
        assert mirror.stop() == 0
    finally:
        mirror.kill()


@pytest.fixture(scope="package")
def at_once(routes: Mapping[str, Route]) -> Iterator[AtOnce]:
    """Checks of several variants side by side."""
    checks = AtOnce(routes)
    yield checks
    checks.close()
