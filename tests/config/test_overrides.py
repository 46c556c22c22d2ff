from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.overrides import refusal
from heliograph.errors import ConfigError

BASE = "clusters=a,b\na.bootstrap.servers=127.0.0.1:1\nb.bootstrap.servers=127.0.0.1:2\na->b.enabled=true\n"


def read(folder: Path, text: str) -> MirrorConfig:
    file = folder / "mm2.properties"
    file.write_text(BASE + text)
    return load(file, environment={})


@pytest.mark.parametrize(
    "name",
    ["topics", "tasks.max", "sync.group.offsets.enabled", "consumer.fetch.max.bytes", "source.consumer.fetch.min.bytes",
     "target.producer.compression.type", "producer.override.linger.ms", "bandwidth.limit.bytes.per.second"],
)  # fmt: skip
def test_what_may_be_changed(name: str) -> None:
    assert refusal(name, "1") == ""


@pytest.mark.parametrize(
    "name",
    ["enabled", "source.cluster.alias", "replication.policy.class", "topic.filter.class",
     "replication.policy.separator", "source.cluster.bootstrap.servers", "source.consumer.bootstrap.servers",
     "consumer.sasl.jaas.config",
     "source.cluster.sasl.login.callback.handler.class", "target.producer.ssl.keystore.location",
     "target.producer.interceptor.classes", "producer.override.ssl.key.password", "security.protocol",
     "config.providers", "offset.storage.topic", "listeners", "rest.token.me", "spark.master", "no.such.key",
     "clusters", "metric.reporters", "consumer.metric.reporters"],
)  # fmt: skip
def test_what_names_code_files_secrets_clusters_or_books_may_not(name: str) -> None:
    assert "change the file" in refusal(name, "x")
    assert "change the file" in refusal(name, None)


def test_a_value_that_a_provider_keeps_may_not() -> None:
    assert "provider" in refusal("topics", "${file:/etc/passwd:root}")


def test_changes_win_over_every_line_of_the_file(tmp_path: Path) -> None:
    config = read(tmp_path, "topics=one\na->b.tasks.max=3\n")
    changed = config.with_changes({"a->b": {"topics": "two", "tasks.max": "5"}}).flow("a->b")
    assert changed is not None
    assert (changed.setting("topics").text, changed.number("tasks.max")) == ("two", 5)
    before = config.flow("a->b")
    assert before is not None
    assert (before.setting("topics").text, before.number("tasks.max")) == ("one", 3)


def test_what_is_taken_back_is_as_if_the_file_did_not_mention_it(tmp_path: Path) -> None:
    config = read(tmp_path, "tasks.max=4\na->b.tasks.max=3\na->b.topics=one\n")
    default = read(tmp_path, "").flow("a->b")
    changed = config.with_changes({"a->b": {"tasks.max": None, "topics": None}}).flow("a->b")
    assert changed is not None
    assert default is not None
    assert changed.number("tasks.max") == default.number("tasks.max")
    assert changed.get("topics") == default.get("topics")


def test_other_flows_keep_theirs(tmp_path: Path) -> None:
    config = read(tmp_path, "b->a.enabled=true\ntopics=one\n").with_changes({"a->b": {"topics": "two"}})
    back = config.flow("b->a")
    assert back is not None
    assert back.setting("topics").text == "one"


def test_later_changes_replace_earlier_ones(tmp_path: Path) -> None:
    config = read(tmp_path, "topics=one\n").with_changes({"a->b": {"topics": "two"}}).with_changes({"a->b": {}})
    flow = config.flow("a->b")
    assert flow is not None
    assert flow.setting("topics").text == "one"


def test_a_wrong_value_is_named_with_its_flow_and_key(tmp_path: Path) -> None:
    config = read(tmp_path, "")
    with pytest.raises(ConfigError, match=r"a->b\.tasks\.max: .*none"):
        config.with_changes({"a->b": {"tasks.max": "none"}})
