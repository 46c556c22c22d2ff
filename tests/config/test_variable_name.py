"""Names of variables stand for keys, and never for two without somebody being told."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from heliograph.config import options
from heliograph.config.address import ROLES, Place, names_at
from heliograph.config.option import Scope
from heliograph.config.variable_name import _names, closest, is_own, meant_keys, spelt, variable_for

ALIASES = ("primary", "us-west.1", "dr_2")
SOURCES = Path(__file__).parents[2] / "src"


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("clusters", "HELIOGRAPH_CLUSTERS"),
        ("tasks.max", "HELIOGRAPH_TASKS_MAX"),
        ("offset-syncs.topic.location", "HELIOGRAPH_OFFSET_SYNCS_TOPIC_LOCATION"),
        ("primary.bootstrap.servers", "HELIOGRAPH_PRIMARY_BOOTSTRAP_SERVERS"),
        ("us-west.1.sasl.jaas.config", "HELIOGRAPH_US_WEST_1_SASL_JAAS_CONFIG"),
        ("dr_2.producer.linger.ms", "HELIOGRAPH_DR_2_PRODUCER_LINGER_MS"),
        ("primary->us-west.1.topics", "HELIOGRAPH_PRIMARY__US_WEST_1_TOPICS"),
        ("primary->dr_2.producer.override.linger.ms", "HELIOGRAPH_PRIMARY__DR_2_PRODUCER_OVERRIDE_LINGER_MS"),
        ("source.consumer.client.rack", "HELIOGRAPH_SOURCE_CONSUMER_CLIENT_RACK"),
        ("spark.master", "HELIOGRAPH_SPARK_MASTER"),
        ("primary->dr_2.transforms.mask.type", "HELIOGRAPH_PRIMARY__DR_2_TRANSFORMS_MASK_TYPE"),
    ],
)
def test_a_key_has_a_variable_that_means_it(key: str, variable: str) -> None:
    assert variable_for(key) == variable
    assert meant_keys(variable.removeprefix("HELIOGRAPH_"), ALIASES, ()) == [key]


def test_no_two_options_share_a_variable_and_none_is_taken_for_ours() -> None:
    for place in Place:
        counts = Counter(spelt(name) for name in names_at(place))
        assert [name for name, count in counts.items() if count > 1] == []
    assert [name for name in names_at(Place.TOP) if is_own(variable_for(name))] == []


def test_every_option_of_the_table_can_be_a_variable() -> None:
    spellings = {spelling for place in Place for spelling in _names(place)}
    roles = [Scope(role) for role in ROLES]
    names = (f"{o.scope.value}.{o.name}" if o.scope in roles else o.name for o in options.OPTIONS)
    assert [name for name in names if spelt(name) not in spellings] == []


def test_what_the_file_spells_otherwise_is_meant_as_it_is_spelt() -> None:
    written = ("primary->dr_2.transforms.MaskPII.mask.char", "spark.dynamicAllocation.enabled")
    assert meant_keys("PRIMARY__DR_2_TRANSFORMS_MASKPII_MASK_CHAR", ALIASES, written) == [written[0]]
    assert meant_keys("SPARK_DYNAMICALLOCATION_ENABLED", ALIASES, written) == [written[1]]
    assert meant_keys("SPARK_DYNAMICALLOCATION_ENABLED", ALIASES, ()) == ["spark.dynamicallocation.enabled"]


def test_aliases_that_look_alike_in_capitals_are_both_meant() -> None:
    assert meant_keys("A_B_BOOTSTRAP_SERVERS", ("a-b", "a_b"), ()) == ["a-b.bootstrap.servers", "a_b.bootstrap.servers"]


def test_a_flow_of_one_cluster_into_itself_is_not_meant() -> None:
    assert meant_keys("PRIMARY__PRIMARY_TOPICS", ALIASES, ()) == []


def test_the_nearest_variable_is_found_at_every_level() -> None:
    assert closest("HELIOGRAPH_TASK_MAX", ALIASES) == "HELIOGRAPH_TASKS_MAX"
    assert closest("HELIOGRAPH_PRIMARY_BOOTSTRAP_SERVER", ALIASES) == "HELIOGRAPH_PRIMARY_BOOTSTRAP_SERVERS"
    assert closest("HELIOGRAPH_PRIMARY__DR_2_TOPIC", ALIASES) == "HELIOGRAPH_PRIMARY__DR_2_TOPICS"
    assert closest("HELIOGRAPH_XYZ", ALIASES) == ""


def test_variables_that_the_program_reads_itself_are_no_options() -> None:
    pattern = re.compile(r"(?<!_)HELIOGRAPH_[A-Z_]*[A-Z]")  # the shell asks for completion by another kind of name
    named = {name for path in SOURCES.rglob("*.py") for name in pattern.findall(path.read_text())}
    assert {name for name in named if not is_own(name)} == {"HELIOGRAPH_FACT"}
    assert is_own("HELIOGRAPH_FACT_GROUPS")
