from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import heliograph
from heliograph.config import options
from heliograph.config.option import Effect, Kind, Option
from heliograph.config.setting import value_text
from heliograph.config.value import parse_value

MM2_KEYS = """
clusters config.providers dedicated.mode.enable.internal.rest listeners admin.listeners
rest.advertised.host.name rest.advertised.port rest.advertised.listener access.control.allow.origin
access.control.allow.methods response.http.headers.config
enabled source.cluster.alias target.cluster.alias admin.timeout.ms replication.policy.class
replication.policy.separator replication.policy.internal.topic.separator.enabled forwarding.admin.class
metric.reporters metric.names.formats name connector.class tasks.max tasks.max.enforce key.converter
value.converter header.converter transforms predicates config.action.reload errors.retry.timeout
errors.retry.delay.max.ms errors.tolerance errors.log.enable errors.log.include.messages topic.creation.groups
exactly.once.support transaction.boundary transaction.boundary.interval.ms offsets.storage.topic
internal.topics.automatic.creation.enable
topics topics.exclude topic.filter.class config.property.filter.class config.properties.exclude
use.defaults.from replication.factor refresh.topics.enabled refresh.topics.interval.seconds
sync.topic.configs.enabled sync.topic.configs.interval.seconds sync.topic.acls.enabled
sync.topic.acls.interval.seconds consumer.poll.timeout.ms offset.lag.max offset-syncs.topic.location
offset-syncs.topic.replication.factor emit.offset-syncs.enabled heartbeats.replication.enabled
use.incremental.alter.configs add.source.alias.to.metrics topics.blacklist config.properties.blacklist
groups.blacklist task.assigned.partitions task.index
groups groups.exclude group.filter.class refresh.groups.enabled refresh.groups.interval.seconds
emit.checkpoints.enabled emit.checkpoints.interval.seconds sync.group.offsets.enabled
sync.group.offsets.interval.seconds checkpoints.topic.replication.factor task.assigned.groups
emit.heartbeats.enabled emit.heartbeats.interval.seconds heartbeats.topic.replication.factor
offset.flush.interval.ms offset.flush.timeout.ms task.shutdown.graceful.timeout.ms exactly.once.source.support
session.timeout.ms heartbeat.interval.ms rebalance.timeout.ms scheduled.rebalance.max.delay.ms
worker.sync.timeout.ms worker.unsync.backoff.ms connect.protocol offset.storage.topic config.storage.topic
status.storage.topic offset.storage.partitions status.storage.partitions offset.storage.replication.factor
config.storage.replication.factor status.storage.replication.factor connector.client.config.override.policy
topic.tracking.enable topic.tracking.allow.reset topic.creation.enable plugin.path plugin.discovery
metrics.sample.window.ms metrics.num.samples inter.worker.key.ttl.ms inter.worker.signature.algorithm
bootstrap.servers security.protocol sasl.mechanism sasl.jaas.config ssl.truststore.location ssl.keystore.key
fetch.min.bytes max.poll.records batch.size linger.ms compression.type acks client.id client.rack
isolation.level auto.offset.reset request.timeout.ms on.data.loss bandwidth.limit.bytes.per.second
start.timestamp.ms jmx.port
"""


@pytest.mark.parametrize("name", MM2_KEYS.split())
def test_every_key_of_mm2_is_in_the_table(name: str) -> None:
    assert any(option.name == name for option in options.OPTIONS)


def test_what_is_said_to_act_is_read_somewhere() -> None:
    """A key that nothing reads would be a promise that nobody keeps. Pairs of keys are read by what they begin with."""
    package = Path(heliograph.__file__).parent
    files = [file for file in package.rglob("*.py") if file.parent != package / "config" / "options"]
    source = "\n".join(file.read_text() for file in files)

    def is_read(name: str) -> bool:
        stem = re.sub(r"^(ssl\.(?:key|trust)store)\..*|(.*)\.(?:enabled|interval\.seconds)$", r"\1\2", name)
        return any(f'"{text}"' in source for text in (name, stem))

    acting = [option for option in options.OPTIONS if option.effect is Effect.ACTS and not option.replaced_by]
    assert [option.name for option in acting if not is_read(option.name)] == []


def test_names_are_unique_within_a_scope() -> None:
    counts = Counter((option.scope, option.name) for option in options.OPTIONS)
    assert [key for key, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("option", options.OPTIONS, ids=lambda option: f"{option.scope.value}:{option.name}")
def test_options_are_consistent(option: Option) -> None:
    assert option.doc.endswith((".", ")"))
    assert (option.effect is Effect.ACTS) == (not option.note)
    if option.replaced_by:
        assert any(other.name == option.replaced_by for other in options.OPTIONS)
    if option.default is not None and option.kind is not Kind.PASSWORD:
        assert parse_value(option, value_text(option.default)) == option.default


@pytest.mark.parametrize(
    ("name", "ours", "mm2"),
    [
        ("refresh.topics.interval.seconds", 30, "600"),
        ("sync.topic.acls.enabled", False, "true"),
        ("offset-syncs.topic.location", "target", "source"),
        ("exactly.once.source.support", "enabled", "disabled"),
        ("isolation.level", "read_committed", "read_uncommitted"),
    ],
)
def test_where_defaults_differ_both_are_told(name: str, ours: object, mm2: str) -> None:
    option = next(option for option in options.OPTIONS if option.name == name)
    assert (option.default, option.mm2_default) == (ours, mm2)


def test_every_password_is_secret() -> None:
    secrets = {option.name for option in options.OPTIONS if option.secret}
    assert secrets >= {"sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", "ssl.truststore.password"}
