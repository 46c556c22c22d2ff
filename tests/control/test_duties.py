from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import ConfigError

BASE = "clusters=a,b\na.bootstrap.servers=127.0.0.1:1\nb.bootstrap.servers=127.0.0.1:2\na->b.enabled=true\n"
IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
WRITES = {"standing", "report", "sight", "offset map", "positions", "producer ids"}
ALWAYS = {*WRITES, "owner", "lag", "history", "orders", "lanes"}


def read(folder: Path, text: str, clusters: list[str] | None = None) -> MirrorConfig:
    file = folder / "mm2.properties"
    file.write_text(BASE + text)
    return load(file, environment={}, clusters=clusters)


def chores_of(config: MirrorConfig) -> dict[str, dict[str, float]]:
    """The names and intervals of what each pair of clusters does."""
    flows = RunningMirror(config).flows
    return {name: {report.name: report.seconds for report in flow.reports()} for name, flow in flows.items()}


def test_what_a_plain_file_asks_for(tmp_path: Path) -> None:
    found = chores_of(read(tmp_path, ""))
    assert set(found["a->b"]) == {"heartbeats", "topic settings", "offset syncs", "checkpoints", *ALWAYS}
    assert set(found["b->a"]) == {"heartbeats"}  # not enabled: only heartbeats, which a->b will mirror


def test_what_is_asked_for_is_done_as_often_as_asked(tmp_path: Path) -> None:
    text = (
        "emit.heartbeats.interval.seconds=7\nsync.topic.configs.interval.seconds=11\nsync.topic.acls.enabled=true\n"
        "sync.topic.acls.interval.seconds=12\nemit.checkpoints.interval.seconds=13\nsync.group.offsets.enabled=true\n"
        "sync.group.offsets.interval.seconds=14\nprogress.group.enabled=true\nprogress.group.interval.seconds=15\n"
    )
    found = chores_of(read(tmp_path, text))["a->b"]
    assert {name: seconds for name, seconds in found.items() if name not in {*ALWAYS, "offset syncs"}} == {
        "heartbeats": 7,
        "topic settings": 11,
        "access rights": 12,
        "checkpoints": 13,
        "group offsets": 14,
        "progress group": 15,
    }


def test_what_is_not_wanted_is_not_done(tmp_path: Path) -> None:
    text = (
        "emit.heartbeats.enabled=false\nsync.topic.configs.enabled=false\nemit.checkpoints.enabled=false\n"
        "emit.offset-syncs.enabled=false\n"
    )
    assert {name: set(found) for name, found in chores_of(read(tmp_path, text)).items()} == {"a->b": ALWAYS}


def test_a_negative_interval_means_never(tmp_path: Path) -> None:
    never = ("sync.topic.configs.interval.seconds", "emit.checkpoints.interval.seconds")
    text = "emit.offset-syncs.enabled=false\n" + "".join(f"{name}=-1\n" for name in never)
    assert set(chores_of(read(tmp_path, text))["a->b"]) == {"heartbeats", *ALWAYS}


def test_where_names_are_kept_both_ways_settings_go_only_one_way(tmp_path: Path) -> None:
    both = chores_of(read(tmp_path, "b->a.enabled=true\n" + IDENTITY))
    assert "topic settings" in both["a->b"]
    assert "topic settings" not in both["b->a"]
    both = chores_of(read(tmp_path, "b->a.enabled=true\n"))
    assert all("topic settings" in found for found in both.values())
    only_back = chores_of(read(tmp_path, "b->a.enabled=true\na->b.sync.topic.configs.enabled=false\n" + IDENTITY))
    assert "topic settings" in only_back["b->a"]


def test_the_flow_back_is_known_even_if_another_process_runs_it(tmp_path: Path) -> None:
    config = read(tmp_path, "b->a.enabled=true\n", clusters=["b"])
    [flow] = config.flows
    opposite = config.opposite_of(flow)
    assert opposite is not None
    assert opposite.name == "b->a"
    not_enabled = read(tmp_path, "", clusters=["b"])
    assert not_enabled.opposite_of(not_enabled.flows[0]) is None


def test_two_flows_cannot_commit_for_the_same_group(tmp_path: Path) -> None:
    text = "clusters=a,b,c\nc.bootstrap.servers=127.0.0.1:3\na->c.enabled=true\nprogress.group.enabled=true\n"
    with pytest.raises(ConfigError, match="a->b and a->c would both commit for the group mm2-"):
        RunningMirror(read(tmp_path, text))
    RunningMirror(read(tmp_path, text + "a->c.progress.group.id=mm2-other\n"))
