"""The settings of a flow as one flat map, and what a new map changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.config.secret import HIDDEN
from heliograph.control.connector import Connector
from heliograph.control.connector_config import ConfigRevision, config_texts, connector_of_class
from heliograph.errors import ConfigError

_FILE = """
clusters = a, b
a.bootstrap.servers = one:9092
b.bootstrap.servers = two:9092
b.security.protocol = SASL_PLAINTEXT
b.sasl.mechanism = PLAIN
b.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="canary";
a.client.id = ${env:A_NAME}
a->b.enabled = true
topics = orders, payments
a->b.groups = shop-.*
a->b.consumer.fetch.min.bytes = 5
a.consumer.fetch.max.bytes = 1000000
b.offset.flush.interval.ms = 1000
topics.blacklist = old
"""


@pytest.fixture
def config(tmp_path: Path) -> MirrorConfig:
    """The file, read."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return load(file, {"A_NAME": "from the environment"})


def _flow(config: MirrorConfig, changes: Mapping[str, str | None] | None = None) -> FlowConfig:
    flow = config.with_changes({"a->b": changes or {}}).flow("a->b")
    assert flow is not None
    return flow


def _shown(flow: FlowConfig) -> dict[str, str]:
    return config_texts(flow, Connector.SOURCE, "MirrorSourceConnector")


def _revise(
    config: MirrorConfig, wanted: Mapping[str, str], changed: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    return ConfigRevision(_flow(config, changed), _flow(config), changed or {}).changes(wanted)


def test_all_that_the_file_says_is_shown_with_secrets_hidden_and_references_as_written(config: MirrorConfig) -> None:
    shown = _shown(_flow(config))
    assert shown == {
        "name": "MirrorSourceConnector",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "enabled": "true",
        "source.cluster.bootstrap.servers": "one:9092",
        "target.cluster.bootstrap.servers": "two:9092",
        "target.cluster.security.protocol": "SASL_PLAINTEXT",
        "target.cluster.sasl.mechanism": "PLAIN",
        "target.cluster.sasl.jaas.config": HIDDEN,
        "source.cluster.client.id": "${env:A_NAME}",
        "topics": "orders, payments",
        "topics.exclude": "old",
        "groups": "shop-.*",
        "consumer.fetch.min.bytes": "5",
        "source.consumer.fetch.max.bytes": "1000000",
    }


def test_the_same_map_changes_nothing(config: MirrorConfig) -> None:
    assert _revise(config, _shown(_flow(config))) == {}


def test_what_differs_is_a_change_and_what_is_left_out_gets_its_default(config: MirrorConfig) -> None:
    wanted = {**_shown(_flow(config)), "topics": "orders", "tasks.max": "4"}
    for name in ("groups", "topics.exclude", "consumer.fetch.min.bytes", "source.consumer.fetch.max.bytes"):
        del wanted[name]
    changes = _revise(config, wanted)
    after = _flow(config, changes)
    assert changes == {
        "topics": "orders",
        "tasks.max": "4",
        "groups": None,
        "consumer.fetch.min.bytes": None,
        "topics.exclude": str(changes["topics.exclude"]),
        "source.consumer.fetch.max.bytes": str(changes["source.consumer.fetch.max.bytes"]),
    }
    plain = {
        name: option.default
        for name, option in ((n, after.setting(n).option) for n in ("groups", "topics.exclude"))
        if option
    }
    assert {name: after.get(name) for name in plain} == plain
    for name in ("fetch.min.bytes", "fetch.max.bytes"):
        setting = after.source.clients["consumer"].settings[name]
        assert setting.option is not None
        assert setting.value == setting.option.default


def test_a_topic_list_at_the_top_level_can_be_taken_back_for_one_flow(config: MirrorConfig) -> None:
    wanted = _shown(_flow(config))
    del wanted["topics"]
    changes = _revise(config, wanted)
    assert changes == {"topics": None}
    assert _flow(config, changes).get("topics") == (".*",)


def test_changes_stay_and_go_with_the_map(config: MirrorConfig) -> None:
    changed = {"topics": "orders,returns", "groups": None}
    shown = _shown(_flow(config, changed))
    assert shown["topics"] == "orders, returns"
    assert "groups" not in shown
    assert _revise(config, shown, changed) == changed
    assert _revise(config, {**shown, "groups": "shop-.*"}, changed) == {"topics": "orders,returns"}
    assert _revise(config, _shown(_flow(config)), changed) == {}


def test_what_has_no_default_and_stands_elsewhere_in_the_file_cannot_be_left_out(config: MirrorConfig) -> None:
    wanted = _shown(_flow(config))
    del wanted["source.cluster.bootstrap.servers"]
    with pytest.raises(ConfigError, match=r"a\.bootstrap\.servers"):
        _revise(config, wanted)


def test_a_change_that_another_key_overrides_is_told(config: MirrorConfig) -> None:
    flow = _flow(config)
    changes = {"consumer.fetch.max.bytes": "7"}  # loses to a.consumer.fetch.max.bytes
    revision = ConfigRevision(flow, flow, {})
    with pytest.raises(ConfigError, match=r"consumer\.fetch\.max\.bytes"):
        revision.check_effect(changes, _flow(config, changes))
    better = {"source.consumer.fetch.max.bytes": "7"}
    revision.check_effect(better, _flow(config, better))


@pytest.mark.parametrize(
    ("name", "connector"),
    [
        ("org.apache.kafka.connect.mirror.MirrorSourceConnector", Connector.SOURCE),
        ("MirrorCheckpointConnector", Connector.CHECKPOINT),
        ("MirrorHeartbeat", Connector.HEARTBEAT),
        ("mirrorheartbeat", None),
        ("org.example.MirrorSourceConnector", None),
        ("", None),
    ],
)
def test_a_class_may_be_named_in_full_or_in_short(name: str, connector: Connector | None) -> None:
    assert connector_of_class(name) is connector
