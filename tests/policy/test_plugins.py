from pathlib import Path

import pytest

from heliograph.policy.filters import (
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    TopicFilter,
)
from heliograph.policy.plugins import (
    PluginError,
    find_class,
    load_config_property_filter,
    load_group_filter,
    load_replication_policy,
    load_topic_filter,
)
from heliograph.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

JAVA = "org.apache.kafka.connect.mirror."
MODULE = """
from heliograph.policy.replication import DefaultReplicationPolicy, ReplicationPolicy

class Shouting(DefaultReplicationPolicy):
    def format_remote_topic(self, source_alias, topic):
        return super().format_remote_topic(source_alias, topic).upper()

class Unfinished(ReplicationPolicy):
    def topic_source(self, topic):
        return None

class Unrelated:
    pass

class Demanding(DefaultReplicationPolicy):
    def configure(self, settings):
        settings["colour"]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "naming_rules.py").write_text(MODULE)
    (tmp_path / "broken_rules.py").write_text("1 / 0")
    (tmp_path / "needy_rules.py").write_text("import not_there_at_all")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "naming_rules"


@pytest.mark.parametrize("prefix", ["", JAVA])
def test_mm2s_own_classes_have_counterparts(prefix: str) -> None:
    settings = {"source.cluster.alias": "a"}
    assert type(load_replication_policy(f"{prefix}DefaultReplicationPolicy", {})) is DefaultReplicationPolicy
    identity = load_replication_policy(f" {prefix}IdentityReplicationPolicy ", settings)
    assert type(identity) is IdentityReplicationPolicy
    assert identity.topic_source("orders") == "a"
    assert type(load_topic_filter(f"{prefix}DefaultTopicFilter", {})) is DefaultTopicFilter
    assert type(load_group_filter(f"{prefix}DefaultGroupFilter", {})) is DefaultGroupFilter
    chosen = load_config_property_filter(f"{prefix}DefaultConfigPropertyFilter", {"use.defaults.from": "source"})
    assert type(chosen) is DefaultConfigPropertyFilter
    assert chosen.should_replicate_source_default("x")


def test_strimzis_identity_policy_is_the_identity_policy() -> None:
    name = "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"
    assert find_class(name, ReplicationPolicy) is IdentityReplicationPolicy


@pytest.mark.parametrize("separator", [".", ":"])
def test_python_classes_are_imported_and_configured(module: str, separator: str) -> None:
    policy = load_replication_policy(f"{module}{separator}Shouting", {"replication.policy.separator": "-"})
    assert policy.format_remote_topic("a", "orders") == "A-ORDERS"


@pytest.mark.parametrize("name", ["com.acme.MyPolicy", JAVA + "NoSuchPolicy", "nowhere:MyPolicy"])
def test_java_classes_without_counterpart_are_to_be_written_in_python(name: str) -> None:
    with pytest.raises(PluginError, match=r"write it as a Python class, see docs/examples"):
        load_replication_policy(name, {})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("naming_rules.Missing", "has no class Missing"),
        ("naming_rules.Unrelated", "is not a subclass of heliograph.policy.replication.ReplicationPolicy"),
        ("naming_rules.MODULE", "has no class"),
        ("naming_rules.Unfinished", "does not define: format_remote_topic, upstream_topic"),
        ("naming_rules.Demanding", "refuses its settings"),
        ("broken_rules.Any", "cannot be imported: ZeroDivisionError"),
        ("needy_rules.Any", "needs the module not_there_at_all"),
        ("DefaultTopicFilter", "is not a subclass"),
        ("", "names no class"),
        ("NoPackage", "names no class"),
        (".relative.Class", "cannot be imported"),
        ("pkg.not a name", "names no class"),
    ],
)
@pytest.mark.usefixtures("module")
def test_a_class_that_cannot_be_used_is_explained(name: str, reason: str) -> None:
    with pytest.raises(PluginError, match=reason):
        load_replication_policy(name, {})


def test_refused_settings_name_the_reason() -> None:
    with pytest.raises(PluginError, match=r"refuses its settings: .*nothing to repeat"):
        load_topic_filter("DefaultTopicFilter", {"topics": "*.orders"})


def test_a_policy_is_no_filter() -> None:
    with pytest.raises(PluginError, match="is not a subclass"):
        find_class(JAVA + "DefaultReplicationPolicy", TopicFilter)
