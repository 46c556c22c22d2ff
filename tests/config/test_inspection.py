# ruff: noqa: E501 - each case is one line, with the whole message
from __future__ import annotations

from collections.abc import Callable

import pytest

Problems = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("topic = x", "warning topic: unknown key, ignored (did you mean topics?)"),
        ("a->b.topic = x", "warning a->b.topic: unknown key, ignored (did you mean a->b.topics?)"),
        (
            "replication.policy.seperator = -",
            "warning replication.policy.seperator: is no key of the table (did you mean replication.policy.separator?)",
        ),
        ("emit.heartbeats = false", "warning emit.heartbeats: unknown key, ignored (did you mean emit.heartbeats.enabled?)"),
        ("a.consumer.max.pol.records = 1", "warning a.consumer.max.pol.records: unknown key, ignored (did you mean a.consumer.max.poll.records?)"),
        ("colour = red", "warning colour: unknown key, ignored (see `heliograph config reference` for all keys)"),
        ("c.security.protocol = SSL", "warning c.security.protocol: unknown key, ignored (c is not in clusters)"),
        ("a.topics = x", "warning a.topics: has no effect here (it belongs to a flow: write topics for all, or a->OTHER.topics)"),
        ("a->b.security.protocol = SSL", "warning a->b.security.protocol: has no effect here (it belongs to a cluster: write a.security.protocol or b.security.protocol)"),
        ("a->b.listeners = x", "warning a->b.listeners: has no effect here (it has no prefix: write listeners)"),
        ("a.consumer.batch.size = 1", "warning a.consumer.batch.size: has no effect here (it is a key of the producer: write a.producer.batch.size)"),
        ("exactly.once.source.support = enabled", "note exactly.once.source.support: MirrorMaker 2 ignores it here (honoured; there write TARGET.exactly.once.source.support)"),
        ("use.defaults.from = source", "note use.defaults.from: MirrorMaker 2 ignores it here (honoured; there write SOURCE->TARGET.use.defaults.from)"),
        ("consumer.client.rack = r", "note consumer.client.rack: MirrorMaker 2 ignores it here (honoured; there write ALIAS.consumer.client.rack)"),
        ("a.request.timeout.ms = 1", "note a.request.timeout.ms: MirrorMaker 2 ignores it here (honoured; there write a.consumer.request.timeout.ms)"),
        ("a->b.producer.compression.type = lz4", "note a->b.producer.compression.type: MirrorMaker 2 ignores it here (honoured; its data is written by b.producer.compression.type)"),
        ("jmx.port = 9999", "note jmx.port: accepted, no effect (there is no JVM of MirrorMaker 2 here; Prometheus scrapes /metrics on the REST port instead)"),
        ("a.ssl.engine.factory.class = x.Y", "warning a.ssl.engine.factory.class: not supported (Java classes cannot be loaded here)"),
        ("a->b.enabled = true ", "note a->b.enabled: MirrorMaker 2 takes a value with blanks after it for false (honoured here)"),
        ("topics.blacklist = x", "warning topics.blacklist: old name, which MirrorMaker 2 ignores since 4.0 (write topics.exclude)"),
    ],
)  # fmt: skip
def test_each_doubtful_line_gets_its_word(problems_of: Problems, line: str, problem: str) -> None:
    assert problem in problems_of(line + "\n")


@pytest.mark.parametrize(
    "line",
    [
        "b.offset.storage.replication.factor = 1",
        "offset.storage.cleanup.policy = compact",
        "a.security.protocol = PLAINTEXT",
        "a->b.transforms.x.fields = z\na->b.transforms = x\na->b.transforms.x.type = MaskPII",
        "spark.master = local[2]",
        "a->b.source.consumer.fetch.max.bytes = 1000",
        "topics = orders.*, events.*",
        "replication.policy.custom = 1",
    ],
)
def test_proper_lines_get_none(problems_of: Problems, line: str) -> None:
    assert problems_of(line + "\n") == []


def test_a_flow_key_that_loses_to_the_cluster_is_pointed_out(problems_of: Problems) -> None:
    text = "a.consumer.client.rack = x\na->b.consumer.client.rack = y\n"
    assert problems_of(text) == [
        "warning a->b.consumer.client.rack: loses to a.consumer.client.rack on line 5, as in MirrorMaker 2 "
        "(to set it for this flow write a->b.source.consumer.client.rack)"
    ]


def test_a_target_key_that_loses_to_the_top_is_pointed_out(problems_of: Problems) -> None:
    text = "offset.storage.topic = x\nb.offset.storage.topic = y\n"
    assert problems_of(text) == [
        "warning b.offset.storage.topic: loses to offset.storage.topic on line 5, as in MirrorMaker 2 "
        "(remove offset.storage.topic to set it for each target)"
    ]


def test_an_old_name_beside_the_new_one_is_ignored(problems_of: Problems) -> None:
    text = "topics.exclude = x\ntopics.blacklist = y\n"
    assert problems_of(text) == [
        "warning topics.blacklist: old name, ignored because topics.exclude is set on line 5 (write topics.exclude)"
    ]


def test_values_of_unknown_keys_are_never_repeated(problems_of: Problems) -> None:
    assert not any("hush-hush" in problem for problem in problems_of("a.sasl.jass.config = hush-hush\n"))
