"""What MirrorMaker 1 was told means the same as a flow."""

from __future__ import annotations

import pytest

from heliograph.config import properties
from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load_properties
from heliograph.errors import ConfigError
from heliograph.migration.mirror_maker_1 import Call, as_flow, differences

CONSUMER = "bootstrap.servers = s2:9092,s1:9092\ngroup.id = mirror maker\n"
PRODUCER = "bootstrap.servers = t:9092\n"


def call(consumer: str = CONSUMER, producer: str = PRODUCER, include: str = "orders.*,events.*", **more: int) -> Call:
    files = (properties.parse(text.encode(), name) for text, name in ((consumer, "c"), (producer, "p")))
    return Call(*files, include, **more)


def loaded(made: Call) -> MirrorConfig:
    return load_properties(as_flow(made), {})


def flow_of(made: Call) -> FlowConfig:
    [flow] = loaded(made).flows
    return flow


def test_the_same_topics_arrive_under_the_same_names() -> None:
    flow = flow_of(call())
    assert flow.enabled
    assert flow.keeps_names
    chosen = [name for name in ("orders-1", "events", "other", "__x") if flow.topic_filter.should_replicate_topic(name)]
    assert chosen == ["orders-1", "events"]


@pytest.mark.parametrize(
    "include", ['"orders.*, events.*"', "'orders.*,events.*'", "orders.*|events.*", " orders.* , events.*"]
)
def test_topics_are_written_in_many_ways(include: str) -> None:
    flow = flow_of(call(include=include))
    assert flow.topic_filter.should_replicate_topic("orders-1")
    assert flow.topic_filter.should_replicate_topic("events")
    assert not flow.topic_filter.should_replicate_topic("xorders")


def test_it_begins_where_the_group_stood_and_moves_it_along() -> None:
    flow = flow_of(call(commit_interval_ms=90_500, streams=3))
    assert flow.get("start.group.id") == "mirror maker"
    assert (flow.get("progress.group.enabled"), flow.get("progress.group.id")) == (True, "mirror maker")
    assert flow.get("progress.group.interval.seconds") == 90
    assert flow.get("tasks.max") == 3


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("", "latest"),
        ("auto.offset.reset = earliest", "earliest"),
        ("auto.offset.reset = smallest", "earliest"),
        ("auto.offset.reset = largest", "latest"),
    ],
)
def test_without_a_word_new_partitions_begin_at_their_end(line: str, value: str) -> None:
    flow = flow_of(call(f"{CONSUMER}{line}\n"))
    assert flow.source.client_settings("consumer")["auto.offset.reset"] == value


def test_it_does_nothing_that_mirror_maker_1_does_not() -> None:
    flow = flow_of(call())
    for name in ("emit.heartbeats", "emit.checkpoints", "emit.offset-syncs", "sync.topic.configs", "sync.topic.acls"):
        assert flow.get(f"{name}.enabled") is False


def test_both_files_are_carried_over_for_all_clients() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = f'sasl.mechanism=PLAIN\nsasl.jaas.config={module} required username="u" password="p";\n'
    login += "security.protocol=SASL_PLAINTEXT\n"
    flow = flow_of(call(f"{CONSUMER}{login}fetch.min.bytes=7\n", f"{PRODUCER}compression.type=zstd\n"))
    for role in ("consumer", "producer", "admin"):
        assert flow.source.client_settings(role)["security.protocol"] == "SASL_PLAINTEXT"
        assert flow.target.client_settings(role)["security.protocol"] == "PLAINTEXT"
    assert flow.source.client_settings("consumer")["fetch.min.bytes"] == 7
    assert flow.target.client_settings("producer")["compression.type"] == "zstd"


def test_mistakes_are_told_where_they_stand() -> None:
    with pytest.raises(ConfigError) as failed:
        loaded(call(f"{CONSUMER}fetch.min.bytes = few\n", f"{PRODUCER}linger.ms = x\n"))
    assert sorted(str(problem).partition(" error: ")[0] for problem in failed.value.problems) == ["c:3:", "p:2:"]


def test_what_is_missing_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as failed:
        as_flow(call("zookeeper.connect = z:2181\n", "metadata.broker.list = t:9092\n"))
    assert [str(problem) for problem in failed.value.problems] == [
        "c: error: bootstrap.servers: is missing "
        "(instead of zookeeper.connect write bootstrap.servers = the brokers of the source, as host:port)",
        "c: error: group.id: is missing (write group.id = …)",
        "p: error: bootstrap.servers: is missing "
        "(instead of metadata.broker.list write bootstrap.servers = the same brokers, as host:port)",
    ]


def test_every_group_and_source_keeps_books_of_its_own() -> None:
    here, elsewhere = call(), call("bootstrap.servers = x:9092\ngroup.id = mirror maker\n")
    same = call("bootstrap.servers = s1:9092,s2:9092\ngroup.id = mirror maker\n")
    assert here.alias == same.alias
    assert here.alias.startswith("mirror-maker-")
    assert here.alias != elsewhere.alias


def test_the_differences_name_the_flow_the_group_and_the_streams() -> None:
    text = "\n".join(differences(call(streams=5)))
    for words in ("mirror-maker-", "group mirror maker", "--num.streams 5", "--abort.on.send.failure"):
        assert words in text
