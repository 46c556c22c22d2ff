"""Which partitions of a lane are looked at record by record, and which keep the fast way."""

from __future__ import annotations

from heliograph.engine.lane_transforms import LaneTransforms
from heliograph.engine.transforming import TransformSettings
from heliograph.model import Assignment, TopicPartition
from heliograph.transforms.chain import ChainSpec, PredicateSpec, StageSpec

_KAFKA = "org.apache.kafka.connect.transforms."
_PEOPLE = PredicateSpec(f"{_KAFKA}predicates.TopicNameMatches", {"pattern": ".*people"})
_RENAME = StageSpec("rename", f"{_KAFKA}RegexRouter", {"regex": "primary[.](.*)", "replacement": "$1"})
_MASK = StageSpec("mask", "MaskPII", {"fields": "email"}, "isPeople")


def is_looked_at(topic: str, *stages: StageSpec) -> bool:
    chain = ChainSpec(stages, {"isPeople": _PEOPLE})
    target = chain.build().route(f"primary.{topic}").topic
    assignment = Assignment(TopicPartition(topic, 0), TopicPartition(target, 0), remote_topic=f"primary.{topic}")
    return LaneTransforms(TransformSettings(chain)).transformer(assignment) is not None


def test_topics_that_no_stage_is_meant_for_keep_the_fast_way() -> None:
    assert is_looked_at("people", _MASK)
    assert not is_looked_at("orders", _MASK)


def test_topics_that_are_only_renamed_keep_the_fast_way() -> None:
    assert not is_looked_at("orders", _RENAME)
    assert not is_looked_at("orders", _RENAME, _MASK)
    assert is_looked_at("people", _RENAME, _MASK)


def test_a_registry_of_the_targets_own_is_a_reason_to_look() -> None:
    formats = {"schema.registry.url": "http://127.0.0.1:1", "target.schema.registry.url": "http://127.0.0.1:2"}
    transforms = LaneTransforms(TransformSettings(ChainSpec(formats=formats)))
    assert transforms.transformer(Assignment(TopicPartition("orders", 0), TopicPartition("primary.orders", 0)))
