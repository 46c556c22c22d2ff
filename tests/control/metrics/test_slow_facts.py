from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.slow_facts import REST, SlowFacts
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from heliograph.model import Assignment, TopicPartition
from tests.chaos.stage import admin_of
from tests.control.metrics.scrape import Scrape
from tests.control.metrics.still_mirror import StillMirror
from tests.embedded.certificates import Authority
from tests.zoo.topics import fresh_name


def test_of_each_store_the_certificate_that_ends_first_is_told(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "station")
    client, server = authority.issue("client"), authority.issue("server", ["127.0.0.1"])
    settings = f"""A.security.protocol = SSL
A.ssl.truststore.location = {authority.trusted}
A.ssl.truststore.type = PEM
A.ssl.keystore.location = {client}
A.ssl.keystore.type = PEM
listeners.https.ssl.keystore.location = {server}
listeners.https.ssl.keystore.type = PEM
"""
    still = StillMirror.of(tmp_path, settings)
    facts = SlowFacts(still.mirror)
    facts.look()
    found = {(item.cluster, item.store): (item.subject, item.days_left) for item in facts.certificates()}
    assert {key: subject for key, (subject, _) in found.items()} == {
        ("A", "keystore"): "CN=client",
        ("A", "truststore"): "CN=station",
        (REST, "keystore"): "CN=server",
    }
    assert all(days == pytest.approx(1, abs=0.01) for _, days in found.values())
    for file in (client, server, authority.trusted):
        file.unlink()
    facts.look()  # what can no longer be read is not forgotten
    assert len(facts.certificates()) == 3


def test_without_tls_there_are_no_certificates(tmp_path: Path) -> None:
    facts = SlowFacts(StillMirror.of(tmp_path).mirror)
    facts.look()
    assert facts.certificates() == ()


@pytest.mark.kafka
def test_headroom_is_what_retention_leaves_to_the_first_waiting_record(
    tmp_path: Path, primary: EmbeddedCluster
) -> None:
    kept, compacted = fresh_name("kept"), fresh_name("compacted")
    with admin_of(primary) as admin:
        admin.create_topics(
            [
                NewTopic(kept, 1, 1, {"retention.ms": "3600000"}),
                NewTopic(compacted, 1, 1, {"cleanup.policy": "compact"}),
            ]
        )
    still = StillMirror.of(tmp_path, f"A.bootstrap.servers = {primary.bootstrap_servers}\n")
    still.driver._assignments = [
        Assignment(TopicPartition(name, 0), TopicPartition(f"A.{name}", 0)) for name in (kept, compacted)
    ]
    still.lags({0: 4}, seconds=600.0, topic=kept)
    metrics = MirrorMetrics(still.mirror)
    metrics._looker._facts.look()
    page = Scrape.of(metrics.page().text.decode())
    name = "heliograph_partition_retention_headroom_seconds"
    assert page.value(name, topic=kept, partition="0") == 3000
    assert page.get(name, topic=compacted) is None
    assert page.value("heliograph_topic_settings_age_seconds") < 5


def test_a_source_that_does_not_answer_shows_as_an_age_that_grows(tmp_path: Path) -> None:
    facts = SlowFacts(StillMirror.of(tmp_path).mirror)
    [flow] = facts._mirror.flows.values()
    before = facts.seconds_since_read(flow)
    facts.look()
    assert facts.seconds_since_read(flow) > before
    assert facts.retention(flow) == {}
