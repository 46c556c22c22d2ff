"""Configurations as they stand in published guides for MirrorMaker 2 must load and mean the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heliograph.cli.main import main
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.problem import Severity
from heliograph.errors import ConfigError

FOLDER = Path(__file__).parent / "seeds"
COMPLETE = sorted(file for file in FOLDER.glob("*.properties") if not re.search("fragment|raw", file.stem))
FRAGMENTS = {
    "000-monitoring-fragment": "000-basic",
    "002-offset-sync-fragment": "002-basic-dc",
    "002-active-active-fragment": "002-basic-dc",
}


def seed(name: str) -> MirrorConfig:
    return load(FOLDER / f"{name}.properties")


@pytest.mark.parametrize("file", COMPLETE, ids=lambda file: file.stem)
def test_complete_files_pass_the_check(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", "check", str(file)])
    assert not ended.value.code
    assert ": ok, " in capsys.readouterr().out


@pytest.mark.parametrize(("fragment", "base"), FRAGMENTS.items())
def test_fragments_say_what_they_lack_and_load_after_the_file_they_belong_to(
    fragment: str, base: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="is missing"):
        seed(fragment)
    texts = [(FOLDER / f"{name}.properties").read_text() for name in (base, fragment)]
    whole = tmp_path / "mm2.properties"
    whole.write_text("".join(texts))
    assert load(whole).flows


def test_a_fragment_gets_one_clear_error() -> None:
    with pytest.raises(ConfigError) as caught:
        seed("000-monitoring-fragment")
    (problem,) = caught.value.problems
    assert (problem.key, problem.severity) == ("clusters", Severity.ERROR)


def test_basic_meaning() -> None:
    config = seed("000-basic")
    flow = config.flow("source->target")
    assert flow is not None
    assert [(f.name, f.heartbeats_only) for f in config.flows] == [
        ("source->target", False),
        ("target->source", True),
    ]
    assert flow.source.bootstrap_servers == (
        "source-kafka-1:9092",
        "source-kafka-2:9092",
        "source-kafka-3:9092",
    )
    assert (flow.target.security.protocol, flow.target.security.mechanism) == ("SASL_SSL", "PLAIN")
    assert flow.target.security.login is not None
    assert flow.target.security.login.options["username"] == "target-user"
    assert flow.get("tasks.max") == 10
    assert flow.get("replication.factor") == 3
    assert flow.get("sync.group.offsets.enabled") is True
    assert flow.replication_policy.format_remote_topic("source", "orders") == "source.orders"
    assert config.problems == ()


def test_active_passive_meaning() -> None:
    config = seed("000-active-passive")
    flow = config.flow("primary->dr")
    assert flow is not None
    assert flow.topic_filter.should_replicate_topic("orders")
    assert not flow.topic_filter.should_replicate_topic("__consumer_offsets")
    assert flow.get("sync.topic.acls.enabled") is True
    assert flow.get("emit.checkpoints.interval.seconds") == 10
    reverse = config.flow("dr->primary")
    assert reverse is not None
    assert reverse.heartbeats_only
    assert [problem.key for problem in config.problems] == [
        "consumer.max.poll.records",
        "producer.batch.size",
        "producer.linger.ms",
    ]


def test_active_active_meaning() -> None:
    config = seed("000-active-active")
    assert all(flow.enabled for flow in config.flows)
    flow = config.flow("us-east->eu-west")
    assert flow is not None
    assert flow.get("offset-syncs.topic.location") == "target"
    assert flow.topic_filter.should_replicate_topic("orders")
    assert not flow.topic_filter.should_replicate_topic("eu-west.orders")
    assert not flow.topic_filter.should_replicate_topic("mm2-offsets.x.internal")
    assert {problem.message for problem in config.problems} == {
        "holds a single backslash, which Java drops, and so does this"
    }


def test_filtering_meaning() -> None:
    flow = seed("000-filtering").flows[0]
    assert flow.topic_filter.should_replicate_topic("prod-x")
    assert flow.topic_filter.should_replicate_topic("orders-eu")
    assert not flow.topic_filter.should_replicate_topic("test-orders")
    assert not flow.topic_filter.should_replicate_topic("orders.internal")


def test_transforms_meaning() -> None:
    flow = seed("000-transforms").flows[0]
    assert flow.get("transforms") == ("addHeaders", "maskPII")
    assert flow.get("predicates") == ("isProduction",)
    assert flow.family("transforms.")["maskPII.fields"] == "email,phone,ssn"
    assert flow.family("transforms.")["addHeaders.negate"] == "true"


def test_quoted_blacklist_meaning() -> None:
    config = seed("001-ambari")
    flow = config.flow("source->destination")
    assert flow is not None
    assert flow.get("topics.exclude") == (".*.internal", "__.*")
    assert not flow.topic_filter.should_replicate_topic("x.internal")
    assert flow.topic_filter.should_replicate_topic("toa.evehicles-latest-dev")
    assert flow.get("offset.storage.replication.factor") == 1
    assert [problem.line for problem in config.problems] == [7, 7, 7, 13]


def test_prose_behind_a_number_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match=r"001-ambari-raw\.properties:14: error: config\.storage"):
        seed("001-ambari-raw")


def test_data_centres_meaning() -> None:
    flow = seed("002-basic-dc").flow("dc1->dc2")
    assert flow is not None
    assert flow.topic_filter.should_replicate_topic("orders.eu")
    assert not flow.topic_filter.should_replicate_topic("payments")
    assert flow.get("refresh.groups.interval.seconds") == 30
