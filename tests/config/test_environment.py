"""Variables beside the file: they win, they are named where they count, and nothing of them is shown that is secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.config.environment import read_with_variables, with_variables
from heliograph.config.explanation import explain
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.properties import PropertiesFile
from heliograph.config.setting import OriginKind
from heliograph.errors import ConfigError

Load = Callable[..., MirrorConfig]
Problems = Callable[..., list[str]]
WHOLE = {
    "HELIOGRAPH_CLUSTERS": "primary, dr-2",
    "HELIOGRAPH_PRIMARY_BOOTSTRAP_SERVERS": "p:9092",
    "HELIOGRAPH_DR_2_BOOTSTRAP_SERVERS": "d:9092",
    "HELIOGRAPH_PRIMARY__DR_2_ENABLED": "true",
}


def test_variables_alone_are_a_whole_configuration() -> None:
    config = load("-", {**WHOLE, "HELIOGRAPH_SPARK_MASTER": "local[2]", "HELIOGRAPH_PRIMARY__DR_2_TOPICS": r"a\.b,c"})
    flow = config.flow("primary->dr-2")
    assert flow is not None
    assert flow.enabled
    assert flow.get("topics") == (r"a\.b", "c")
    assert flow.target.bootstrap_servers == ("d:9092",)
    assert config.spark == {"spark.master": "local[2]"}


def test_a_variable_wins_over_the_line_of_the_same_key_and_says_so(load_text: Load) -> None:
    config = load_text("tasks.max = 2\ntopics = x\n", environment={"HELIOGRAPH_TASKS_MAX": "7"})
    flow = config.flow("a->b")
    assert flow is not None
    origin = flow.setting("tasks.max").origin
    assert (flow.get("tasks.max"), origin.kind, origin.variable) == (7, OriginKind.VARIABLE, "HELIOGRAPH_TASKS_MAX")
    assert str(origin) == "HELIOGRAPH_TASKS_MAX tasks.max"
    assert flow.setting("topics").origin.line == 6


def test_rules_between_keys_are_those_of_the_file(load_text: Load) -> None:
    flow = load_text("a->b.topics = mine\n", environment={"HELIOGRAPH_TOPICS": "all"}).flow("a->b")
    assert flow is not None
    assert flow.get("topics") == ("mine",)


def test_lines_in_a_variable_come_between_the_file_and_single_variables(load_text: Load) -> None:
    kind = "org.apache.kafka.connect.transforms.Filter"
    lines = f"tasks.max = 3\na->b.transforms = MaskIt\na->b.transforms.MaskIt.type = {kind}"
    environment = {"HELIOGRAPH_PROPERTIES": lines, "HELIOGRAPH_TASKS_MAX": "4"}
    flow = load_text("tasks.max = 2\n", environment=environment).flow("a->b")
    assert flow is not None
    assert flow.get("tasks.max") == 4
    assert flow.get("transforms") == ("MaskIt",)
    assert str(flow.setting("transforms").origin) == "HELIOGRAPH_PROPERTIES:2 a->b.transforms"


def test_a_key_that_is_spelt_in_the_file_keeps_its_spelling(load_text: Load) -> None:
    text = "a->b.transforms = MaskIt\na->b.transforms.MaskIt.type = org.apache.kafka.connect.transforms.Filter\n"
    environment = {
        "HELIOGRAPH_A__B_TRANSFORMS_MASKIT_TYPE": "org.apache.kafka.connect.transforms.DropHeaders",
        "HELIOGRAPH_A__B_TRANSFORMS_MASKIT_HEADERS": "x",
    }
    with pytest.raises(ConfigError, match="headers"):
        load_text(text, environment=environment)
    flow = load_text(f"{text}a->b.transforms.MaskIt.headers = y\n", environment=environment).flow("a->b")
    assert flow is not None
    assert flow.family("transforms.")["MaskIt.headers"] == "x"


def test_a_file_alone_is_read_alone(load_text: Load) -> None:
    environment = {
        "HELIOGRAPH_FILE_ALONE": "1",
        "HELIOGRAPH_CLUSTERS": "x,y",
        "HELIOGRAPH_NONSENSE": "1",
        "CONNECT_GROUP_ID": "g",
    }
    config = load_text("", environment=environment)
    assert list(config.clusters) == ["a", "b"]
    assert config.problems == ()


def test_an_empty_variable_says_nothing(load_text: Load) -> None:
    flow = load_text("topics = x\n", environment={"HELIOGRAPH_TOPICS": ""}).flow("a->b")
    assert flow is not None
    assert flow.get("topics") == ("x",)


def test_a_wrong_value_is_told_at_its_variable(problems_of: Problems, load_text: Load) -> None:
    environment = {
        "HELIOGRAPH_TASKS_MAX": "many",
        "HELIOGRAPH_PROPERTIES": "# one\nrefresh.topics.interval.seconds = x",
    }
    with pytest.raises(ConfigError) as failed:
        load_text("tasks.max = 2\n", environment=environment)
    assert [str(problem).split(" (")[0] for problem in failed.value.problems] == [
        "HELIOGRAPH_TASKS_MAX: error: tasks.max: 'many' is not a whole number",
        "HELIOGRAPH_PROPERTIES:2: error: refresh.topics.interval.seconds: 'x' is not a whole number",
    ]


def test_a_broken_line_is_told_at_the_variable() -> None:
    with pytest.raises(ConfigError, match=r"HELIOGRAPH_PROPERTIES:2: error: has a .u"):
        load("-", {**WHOLE, "HELIOGRAPH_PROPERTIES": "a = 1\nb = \\u12"})


def test_letters_beyond_latin_1_pass_through_lines() -> None:
    file = with_variables(PropertiesFile("f", {}, ()), {"HELIOGRAPH_PROPERTIES": "a = ☃ é"})
    assert file.entries["a"].value == "☃ é"


def test_a_variable_that_is_no_option_is_a_warning_with_the_nearest() -> None:
    problems = load("-", {**WHOLE, "HELIOGRAPH_TASK_MAX": "hush-hush", "HELIOGRAPH_STEP": "ours"}).problems
    assert [str(problem) for problem in problems] == [
        "HELIOGRAPH_TASK_MAX: warning: is no option, ignored (did you mean HELIOGRAPH_TASKS_MAX?)"
    ]
    assert str(load("-", {**WHOLE, "HELIOGRAPH_THIRD_SERVERS": "x"}).problems[0]).endswith(
        "(clusters are primary, dr-2)"
    )


def test_a_variable_that_a_reference_looks_up_is_not_mistyped(problems_of: Problems) -> None:
    found = problems_of("client.id = ${env:HELIOGRAPH_DEPLOYMENT}\n", environment={"HELIOGRAPH_DEPLOYMENT": "blue"})
    assert not [problem for problem in found if "is no option" in problem]


def test_a_variable_that_may_mean_two_keys_is_refused() -> None:
    environment = {"HELIOGRAPH_CLUSTERS": "a-b, a_b", "HELIOGRAPH_A_B_BOOTSTRAP_SERVERS": "x:1"}
    with pytest.raises(
        ConfigError, match=r"may mean a-b\.bootstrap\.servers or a_b\.bootstrap\.servers .write the line"
    ):
        load("-", environment)


def test_no_file_and_no_variable_is_one_clear_answer() -> None:
    with pytest.raises(ConfigError) as failed:
        load("-", {"PATH": "/bin", "HELIOGRAPH_LIFELINE": "1"})
    assert str(failed.value) == (
        "error: no file was given, and no HELIOGRAPH_ variable takes its place "
        "(give the path of an mm2.properties file, or set HELIOGRAPH_CLUSTERS and so on)"
    )


def test_a_path_is_still_a_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_with_variables(tmp_path / "none", WHOLE)


def test_secrets_in_variables_stay_hidden(load_text: Load) -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hush-hush";'
    environment = {
        "HELIOGRAPH_A_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "HELIOGRAPH_A_SASL_MECHANISM": "PLAIN",
        "HELIOGRAPH_A_SASL_JAAS_CONFIG": jaas,
        "HELIOGRAPH_B_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
        "HELIOGRAPH_PROPERTIES": f"b.sasl.mechanism=PLAIN\nb.sasl.jaas.config={jaas}",
    }
    config = load_text("", environment=environment)
    shown = {item.name: item.text for group in explain(config) for item in group.settings if item.origin.is_given}
    assert shown["sasl.jaas.config"] == "[hidden]"
    assert "hush" not in repr(config) + str(explain(config)) + str(config.problems)


def test_what_loses_to_a_variable_is_told_with_its_name(problems_of: Problems) -> None:
    found = problems_of(
        "b.replication.policy.separator = _\n", environment={"HELIOGRAPH_REPLICATION_POLICY_SEPARATOR": "-"}
    )
    assert [
        problem for problem in found if "in HELIOGRAPH_REPLICATION_POLICY_SEPARATOR, as in MirrorMaker 2" in problem
    ]
