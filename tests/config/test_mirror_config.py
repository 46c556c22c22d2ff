from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from heliograph.config.jaas import LoginModule
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.secret import Secret
from heliograph.config.setting import OriginKind
from heliograph.errors import ConfigError
from heliograph.policy.replication import IdentityReplicationPolicy

Load = Callable[..., MirrorConfig]

LOGIN = (
    "b.security.protocol = sasl_plaintext\nb.sasl.mechanism = PLAIN\n"
    'b.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '
    'password="${env:PASSWORD}";\n'
)


def pairs(count: int, *lines: str) -> str:
    aliases = "abcdef"[:count]
    servers = "".join(f"{alias}.bootstrap.servers={alias}:1\n" for alias in aliases)
    return f"clusters={','.join(aliases)}\n{servers}" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (pairs(3), {"a->b", "a->c", "b->a", "b->c", "c->a", "c->b"}),
        (
            pairs(3, "a->b.emit.heartbeats.enabled=false", "a->c.emit.heartbeats.enabled=false"),
            {"b->a", "b->c", "c->a", "c->b"},
        ),
        (
            pairs(
                6,
                "emit.heartbeats.enabled=false",
                "a->b.enabled=true",
                "a->c.enabled=true",
                "a->d.enabled=true",
                "a->e.enabled=false",
            ),
            {"a->b", "a->c", "a->d"},
        ),
        (
            pairs(
                4,
                "emit.heartbeats.enabled=false",
                "a->b.enabled=true",
                "a->c.enabled=true",
                "d->a.emit.heartbeats.enabled=true",
            ),
            {"a->b", "a->c", "d->a"},
        ),
    ],
)
def test_pairs_run_if_enabled_or_for_heartbeats(load_text: Load, text: str, names: set[str]) -> None:
    assert {flow.name for flow in load_text(base=text).flows} == names


def test_no_pair_at_all_is_an_error(load_text: Load) -> None:
    with pytest.raises(ConfigError, match="no flow is enabled"):
        load_text(base=pairs(3, "emit.heartbeats.enabled=false"))


def test_only_heartbeats_is_a_warning(load_text: Load) -> None:
    config = load_text(base=pairs(2))
    assert all(flow.heartbeats_only for flow in config.flows)
    assert ["only heartbeats" in str(problem) for problem in config.problems] == [True]


def test_clusters_keeps_flows_to_these_targets(load_text: Load) -> None:
    assert [flow.name for flow in load_text(base=pairs(3), clusters=["b"]).flows] == ["a->b", "c->b"]
    with pytest.raises(ConfigError, match="--clusters: x is not in clusters"):
        load_text(clusters=["x"])


def test_settings_are_typed_and_know_their_line(load_text: Load) -> None:
    flow = load_text("tasks.max = 4\na->b.topics = x, y\nsync.group.offsets.enabled = TRUE\n").flows[0]
    assert flow.get("tasks.max") == 4
    assert flow.get("topics") == ("x", "y")
    assert flow.get("sync.group.offsets.enabled") is True
    origin = flow.setting("topics").origin
    assert (origin.kind, origin.line, origin.key) == (OriginKind.FILE, 6, "a->b.topics")
    assert flow.setting("groups").origin.kind is OriginKind.DEFAULT
    with pytest.raises(KeyError):
        flow.get("no.such.option")


def test_names_of_connect_follow_from_the_flow_unless_set(load_text: Load) -> None:
    flow = load_text("b.status.storage.topic = own\n").flows[0]
    assert flow.get("group.id") == "a-mm2"
    assert flow.get("offset.storage.topic") == "mm2-offsets.a.internal"
    assert flow.setting("offset.storage.topic").origin.kind is OriginKind.DERIVED
    assert flow.get("status.storage.topic") == "own"


def test_policy_and_filters_are_ready_to_use(load_text: Load) -> None:
    text = "topics = orders.*\ntopics.exclude = orders-secret\ngroups = g1\nconfig.properties.exclude = x\n"
    flow = load_text(text + "replication.policy.separator = _\n").flows[0]
    assert flow.replication_policy.format_remote_topic("a", "t") == "a_t"
    assert flow.topic_filter.should_replicate_topic("orders-1")
    assert not flow.topic_filter.should_replicate_topic("orders-secret")
    assert not flow.group_filter.should_replicate_group("g2")
    assert not flow.config_property_filter.should_replicate_config_property("x")


def test_flows_may_have_policies_of_their_own(load_text: Load) -> None:
    text = "b->a.replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    config = load_text(text)
    by_name = {flow.name: flow.replication_policy for flow in config.flows}
    assert isinstance(by_name["b->a"], IdentityReplicationPolicy)
    assert by_name["b->a"].topic_source("t") == "b"
    assert not isinstance(by_name["a->b"], IdentityReplicationPolicy)


def test_a_blank_list_of_topics_mirrors_nothing_and_warns(load_text: Load) -> None:
    config = load_text("topics =\n")
    assert not config.flows[0].topic_filter.should_replicate_topic("t")
    assert [problem.key for problem in config.problems] == ["topics"]


def test_clients_get_every_setting_with_its_default(load_text: Load) -> None:
    config = load_text("a.consumer.fetch.max.bytes = 7\nsecurity.protocol = PLAINTEXT\n")
    consumer = config.clusters["a"].client_settings("consumer")
    assert consumer["fetch.max.bytes"] == 7
    assert consumer["bootstrap.servers"] == ("a:9092",)
    assert consumer["isolation.level"] == "read_committed"
    assert config.clusters["b"].client_settings("consumer")["fetch.max.bytes"] == 8388608


def test_a_flow_sees_its_clusters_with_its_own_overrides(load_text: Load) -> None:
    config = load_text("a->b.source.consumer.client.rack = r1\n")
    assert config.flows[0].source.client_settings("consumer")["client.rack"] == "r1"
    assert config.flows[0].source.client_settings("admin")["bootstrap.servers"] == ("a:9092",)
    assert config.clusters["a"].client_settings("consumer")["client.rack"] == ""


def test_logins_are_parsed_with_their_secrets_resolved_and_wrapped(load_text: Load) -> None:
    config = load_text(LOGIN, environment={"PASSWORD": "hush"})
    security = config.flows[0].target.security
    assert (security.protocol, security.mechanism) == ("SASL_PLAINTEXT", "PLAIN")
    assert security.login is not None
    assert security.login.module is LoginModule.PLAIN
    assert security.login.options == {"username": "u", "password": Secret("hush")}
    assert config.clusters["a"].security.login is None


def test_a_role_may_have_a_security_of_its_own(load_text: Load) -> None:
    config = load_text(LOGIN.replace("b.", "b.producer."), environment={"PASSWORD": "hush"})
    target = config.flows[0].target
    assert target.security.protocol == "PLAINTEXT"
    assert target.clients["producer"].security.protocol == "SASL_PLAINTEXT"


def test_a_login_without_sasl_is_pointed_out(load_text: Load) -> None:
    config = load_text(LOGIN.replace("sasl_plaintext", "PLAINTEXT"), environment={"PASSWORD": "x"})
    assert any("has no effect, because security.protocol is PLAINTEXT" in p.message for p in config.problems)


def test_undeclared_providers_are_noted(load_text: Load) -> None:
    config = load_text("topics = ${env:TOPICS}\n", environment={"TOPICS": "x.*"})
    assert config.flows[0].get("topics") == ("x.*",)
    assert config.flows[0].setting("topics").text == "${env:TOPICS}"
    assert "for MirrorMaker 2 add config.providers = env" in str(config.problems[0])


def test_a_configuration_survives_pickling(load_text: Load) -> None:
    transforms = "transforms = x\ntransforms.x.type = MaskPII\ntransforms.x.fields = y\n"
    config = load_text(LOGIN + transforms, environment={"PASSWORD": "hush"})
    data = pickle.dumps(config)
    assert b"hush" not in data
    copy = pickle.loads(data)
    assert copy.clusters == config.clusters
    assert copy.problems == config.problems
    assert [flow.settings for flow in copy.flows] == [flow.settings for flow in config.flows]
    assert copy.flows[0].topic_filter.should_replicate_topic("t")


def test_spark_and_free_keys_are_passed_on(load_text: Load) -> None:
    text = "spark.master = local[2]\nspark.app = ${env:APP}\na->b.transforms = m\na->b.transforms.m.type = Filter\n"
    config = load_text(text, environment={"APP": "x"})
    assert config.spark == {"spark.master": "local[2]", "spark.app": "x"}
    assert config.flows[0].family("transforms.") == {"m.type": "Filter"}


def test_keys_of_the_file_itself_are_typed(load_text: Load) -> None:
    assert load_text("listeners = http://127.0.0.1:1, http://[::1]:2\n").get("listeners") == (
        "http://127.0.0.1:1",
        "http://[::1]:2",
    )
    assert load_text().get("listeners") == ("http://127.0.0.1:8083",)


def test_two_aliases_of_one_cluster_are_pointed_out(load_text: Load) -> None:
    config = load_text(base="clusters=a,b\nbootstrap.servers=h:1\na->b.enabled=true\n")
    assert "share a broker" in str(config.problems[0])


def test_an_alias_that_holds_the_separator_is_pointed_out(load_text: Load) -> None:
    base = "clusters=dc.1,b\ndc.1.bootstrap.servers=h:1\nb.bootstrap.servers=i:1\ndc.1->b.enabled=true\n"
    assert "cannot be traced back" in str(load_text(base=base).problems[0])
    assert load_text("replication.policy.separator=_\n", base=base).problems == ()


def test_ipv6_and_named_brokers_are_accepted(load_text: Load) -> None:
    config = load_text("a.bootstrap.servers = [::1]:9092, kafka_1.example.com:9092\n")
    assert config.clusters["a"].bootstrap_servers == ("[::1]:9092", "kafka_1.example.com:9092")


def test_all_errors_come_at_once_in_the_order_of_their_lines(load_text: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text("topics = (\ntasks.max = x\nb->x.enabled = true\n")
    assert [problem.line for problem in caught.value.problems] == [5, 6, 7]


def test_the_environment_of_the_process_is_used_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOGRAPH_TEST_TASKS", "3")
    path = tmp_path / "f"
    path.write_text(pairs(2, "a->b.enabled=true", "tasks.max=${env:HELIOGRAPH_TEST_TASKS}"))
    assert load(path).flows[0].get("tasks.max") == 3
