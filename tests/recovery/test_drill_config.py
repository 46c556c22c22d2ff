"""The configuration of a drill: nothing of production's names, all of its connections."""

from __future__ import annotations

import stat
from pathlib import Path

import javaproperties
import pytest

from heliograph.config.mirror_config import load
from heliograph.config.rest_check import is_rest_wanted
from heliograph.recovery.drill.config import (
    NOWHERE,
    DrillConfig,
    carriers,
    embedded_entries,
    rehearsal_entries,
    write_config,
)
from heliograph.recovery.drill.names import DrillNames
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.topics import flow_topics

_FILE = """
clusters = primary, backup, third
primary.bootstrap.servers = p:9092
backup.bootstrap.servers = b:9092
third.bootstrap.servers = t:9092
primary.security.protocol = SASL_SSL
primary.sasl.mechanism = PLAIN
primary.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="mirror" password="${env:DRILL_TEST_PASSWORD}";
primary->backup.enabled = true
primary->backup.topics = orders.*
primary->backup.groups = shop.*
primary->backup.tasks.max = 3
primary->backup.consumer.auto.offset.reset = latest
primary->third.enabled = true
backup->primary.offset.lag.max = 7
replication.policy.separator = _
backup.offset.storage.topic = our-positions
config.storage.topic = our-configs
progress.group.enabled = true
emit.heartbeats.interval.seconds = 3
sync.topic.acls.enabled = true
start.timestamp.ms = 1
listeners = http://127.0.0.1:8083
hooks = dns
hooks.dns.command = touch dns-was-changed
hooks.dns.when = before *
"""
_NAMES = DrillNames("0a1b2c3d", "primary", "backup", 2)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRILL_TEST_PASSWORD", "hush-hush")
    path = tmp_path / "mm2.properties"
    path.write_text(_FILE)
    return path


@pytest.fixture
def drill(file: Path, tmp_path: Path) -> DrillConfig:
    return write_config(rehearsal_entries(file, _NAMES), _NAMES, tmp_path)


def test_variables_are_taken_over_under_the_names_of_the_drill(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOGRAPH_PRIMARY_BOOTSTRAP_SERVERS", "elsewhere:9092")
    monkeypatch.setenv("HELIOGRAPH_CLUSTERS", "primary, backup")
    drill = write_config(rehearsal_entries(file, _NAMES), _NAMES, tmp_path)
    assert drill.flow.source.bootstrap_servers == ("elsewhere:9092",)
    assert not [problem for problem in drill.config.problems if "HELIOGRAPH_" in str(problem)]


def test_only_canaries_take_part(drill: DrillConfig) -> None:
    flow = drill.flow
    assert list(drill.config.clusters) == ["primary-drill-0a1b2c3d", "backup-drill-0a1b2c3d"]
    assert [item.name for item in drill.config.flows] == [_NAMES.flow]
    assert list(drill.copies) == list(_NAMES.topics)
    assert not flow.topic_filter.should_replicate_topic("orders")
    assert not flow.group_filter.should_replicate_group("shop")
    assert all(map(flow.group_filter.should_replicate_group, _NAMES.groups))


def test_all_books_are_the_drill_s_own(drill: DrillConfig) -> None:
    flow = drill.flow
    own = (
        *flow_topics(flow), str(flow.get("config.storage.topic")),
        str(flow.get("status.storage.topic")), str(flow.get("group.id")), *drill.copies.values(),
        flow.replication_policy.checkpoints_topic(flow.source.alias),
    )  # fmt: skip
    assert [name for name in own if _NAMES.mark not in name] == []
    assert progress_group_id(flow) == ""


def test_what_would_act_outside_is_left_out(drill: DrillConfig) -> None:
    assert drill.config.hooks == ()
    assert not is_rest_wanted(drill.config.settings)
    assert drill.flow.get("emit.heartbeats.enabled") is False
    assert drill.flow.get("sync.topic.acls.enabled") is False
    assert drill.flow.get("start.timestamp.ms") is None
    assert drill.flow.source.client_settings("consumer")["auto.offset.reset"] == "earliest"


def test_connections_policies_and_limits_stay(drill: DrillConfig) -> None:
    source = drill.flow.source
    assert source.bootstrap_servers == ("p:9092",)
    login = source.security.login
    assert login is not None
    assert login.credentials.password.reveal() == "hush-hush"  # type: ignore[union-attr]
    assert drill.flow.number("tasks.max") == 3
    assert next(iter(drill.copies.values())).startswith("primary-drill-0a1b2c3d_heliograph")


def test_secrets_stay_references_and_files_private(drill: DrillConfig, tmp_path: Path) -> None:
    for name in ("drill.properties", "lost.properties"):
        written = tmp_path / name
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
        assert "hush-hush" not in written.read_text()
        assert "${env:DRILL_TEST_PASSWORD}" in "".join(javaproperties.loads(written.read_text()).values())


def test_a_lost_source_has_an_address_where_nobody_answers(drill: DrillConfig) -> None:
    source, target = drill.as_if_lost.clusters.values()
    assert (source.bootstrap_servers, target.bootstrap_servers) == ((NOWHERE,), ("b:9092",))


def test_clusters_of_this_machine_take_only_names_and_speed_from_a_file(file: Path, tmp_path: Path) -> None:
    servers = {"primary": "127.0.0.1:2", "backup": "127.0.0.1:3"}
    drill = write_config(embedded_entries(file, _NAMES, servers), _NAMES, tmp_path)
    assert drill.flow.source.bootstrap_servers == ("127.0.0.1:2",)
    assert drill.flow.source.security.login is None
    assert next(iter(drill.copies.values())).startswith("primary-drill-0a1b2c3d_heliograph")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("primary->backup.topics = .*", []),
        ("primary->backup.topics = .*\ntopics.exclude = secret", ["primary->backup"]),
        ("primary->backup.topics = orders\ntopics.exclude = secret", []),
        ("backup->primary.enabled = true\nbackup->primary.topics.exclude = x", ["backup->primary"]),
    ],
    ids=["left out by default", "nothing is left out", "not among the topics", "the copies, by the flow back"],
)
def test_production_that_would_carry_canaries_is_noticed(
    file: Path, drill: DrillConfig, line: str, expected: list[str]
) -> None:
    file.write_text(f"{_FILE}\n{line}\n".replace("primary->third.enabled = true", ""))
    assert carriers(load(file), drill) == expected
