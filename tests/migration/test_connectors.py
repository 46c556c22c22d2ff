"""Connectors as they are posted to Kafka Connect become a file that means the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.errors import ConfigError
from heliograph.migration.importing import Import, import_data

SAMPLE = Path(__file__).parent / "samples" / "connectors.json"
MIRROR = "org.apache.kafka.connect.mirror.Mirror"


def connector(kind: str, **settings: str) -> dict[str, str]:
    """A bare configuration; `__` in a name is a dot."""
    sides = {f"{side}.cluster.bootstrap.servers": f"{side}:9092" for side in ("source", "target")}
    known = {"connector.class": f"{MIRROR}{kind}Connector", "source.cluster.alias": "a", "target.cluster.alias": "b"}
    return known | sides | {name.replace("__", "."): value for name, value in settings.items()}


def imported(value: Any) -> Import:
    return import_data(json.dumps(value).encode(), "f.json")


def loaded(found: Import, folder: Path, **environment: str) -> MirrorConfig:
    path = folder / "mm2.properties"
    path.write_text(found.text, encoding="latin-1")
    return load(path, environment)


def only_flow(config: MirrorConfig) -> FlowConfig:
    [flow] = config.flows
    return flow


def test_a_whole_set_means_the_same_as_a_file(tmp_path: Path) -> None:
    config = loaded(import_data(SAMPLE.read_bytes(), "connectors.json"), tmp_path, EAST_PASSWORD="plain-secret")
    flow = only_flow(config)
    by_hand = tmp_path / "by-hand.properties"
    by_hand.write_text(
        "clusters = east, west\n"
        "east.bootstrap.servers = east-1:9092,east-2:9092\n"
        "west.bootstrap.servers = west-1:9092\n"
        "east.security.protocol = SASL_SSL\n"
        "east.sasl.mechanism = SCRAM-SHA-512\n"
        "east.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="mirror" password="plain-secret";\n'
        "east->west.enabled = true\n"
        "east->west.topics = orders.*,events\\\\..*\n"
        "tasks.max = 4\n"
        "replication.factor = 3\n"
        "sync.topic.acls.enabled = false\n"
        "offset-syncs.topic.replication.factor = 3\n"
        "east.consumer.fetch.min.bytes = 1024\n"
        "west.producer.compression.type = zstd\n"
        "transforms = Mask\n"
        "transforms.Mask.type = org.apache.kafka.connect.transforms.MaskField$Value\n"
        "transforms.Mask.fields = card\n"
        "groups = shop-.*\n"
        "sync.group.offsets.enabled = true\n"
        "emit.heartbeats.enabled = false\n"
    )
    expected = only_flow(load(by_hand, {}))
    assert {name: item.value for name, item in flow.settings.items()} == {
        **{name: item.value for name, item in expected.settings.items()},
        "key.converter": flow.get("key.converter"),
    }
    for side in ("source", "target"):
        ours, theirs = getattr(flow, side), getattr(expected, side)
        for role in ("consumer", "producer", "admin"):
            assert ours.client_settings(role) == theirs.client_settings(role)


def test_nothing_secret_is_written_and_every_oddity_is_told() -> None:
    found = import_data(SAMPLE.read_bytes(), "connectors.json")
    assert "plain-secret" not in found.text
    assert found.notes == (
        "a-file is a FileStreamSource, not MirrorMaker 2's: left out",
        "east->west.tasks.max is 4; that mirror-checkpoint says 1 is not taken over",
        "east.sasl.jaas.config: the secret is not copied: set the variable EAST_PASSWORD to it",
        "east->west.no.such.setting = 1 means nothing here, left out",
    )
    assert all(f"# note: {note}" in found.text for note in found.notes)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda config: config,
        lambda config: {"name": "x", "config": config},
        lambda config: [config],
        lambda config: {"x": {"info": {"name": "x", "config": config, "tasks": []}}},
        lambda config: {"connectors": [{"name": "x", "config": config}]},
    ],
    ids=["bare", "as posted", "in a list", "as Kafka Connect lists them", "below a name"],
)
def test_every_form_of_a_connector_is_understood(wrapped: Any, tmp_path: Path) -> None:
    flow = only_flow(loaded(imported(wrapped(connector("Source", topics="orders"))), tmp_path))
    assert (flow.name, flow.enabled, flow.get("topics")) == ("a->b", True, ("orders",))


def test_several_objects_one_after_the_other(tmp_path: Path) -> None:
    text = json.dumps(connector("Heartbeat")) + "\n" + json.dumps(connector("Source"))
    flow = only_flow(loaded(import_data(text.encode(), "f"), tmp_path))
    assert (flow.enabled, flow.get("emit.heartbeats.enabled"), flow.get("emit.checkpoints.enabled")) == (
        True,
        True,
        False,
    )


def test_a_connector_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    found = imported([connector("Source")])
    flow = only_flow(loaded(found, tmp_path))
    assert (flow.get("emit.heartbeats.enabled"), flow.get("emit.checkpoints.enabled")) == (False, False)
    assert found.notes == ("a->b has no MirrorCheckpointConnector: groups of consumers do not move",)
    alone = only_flow(loaded(imported(connector("Heartbeat")), tmp_path))
    assert (alone.enabled, alone.get("emit.heartbeats.enabled")) == (False, True)
    assert "a->b has no MirrorSourceConnector" in imported([connector("Checkpoint"), connector("Heartbeat")]).notes[0]


def test_the_source_connector_counts_whatever_the_order(tmp_path: Path) -> None:
    found = imported([connector("Checkpoint", tasks__max="1"), connector("Source", tasks__max="8")])
    assert only_flow(loaded(found, tmp_path)).get("tasks.max") == 8


def test_what_connectors_say_of_a_cluster_may_differ_and_secrets_are_not_told() -> None:
    one = connector("Source", source__cluster__ssl__key__password="hush-one")
    other = connector("Checkpoint", source__cluster__ssl__key__password="hush-other")
    found = imported([one, other])
    assert "hush" not in found.text + str(found.notes)
    assert any(note.startswith("a.ssl.key.password is [hidden]; that") for note in found.notes)
    assert found.entries["a.ssl.key.password"] == "${env:A_SSL_KEY_PASSWORD}"


def test_references_that_only_a_worker_can_follow_become_variables() -> None:
    jaas = 'x.ScramLoginModule required username="u" password="${secrets:kafka/east-user:password}";'
    found = imported([connector("Source", source__cluster__sasl__jaas__config=jaas)])
    assert 'password="${env:EAST_USER_PASSWORD}"' in found.entries["a.sasl.jaas.config"]
    assert "set the variable EAST_USER_PASSWORD to its value" in str(found.notes)


@pytest.mark.parametrize("reference", ["${env:PW}", "${file:/run/secrets.properties:pw}", "${directory:/run/s:pw}"])
def test_references_that_are_understood_stay(reference: str) -> None:
    found = imported([connector("Source", source__cluster__ssl__key__password=reference)])
    assert found.entries["a.ssl.key.password"] == reference


def test_a_missing_alias_and_nested_values_are_told_at_once() -> None:
    broken: dict[str, Any] = connector("Source")
    del broken["source.cluster.alias"]
    with pytest.raises(ConfigError) as failed:
        imported([{"name": "x", "config": {**broken, "topics": ["a"]}}])
    assert [(problem.key, problem.line) for problem in failed.value.problems] == [
        ("topics", 1),
        ("source.cluster.alias", 1),
    ]


def test_what_is_no_mirror_maker_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"has no MirrorMaker 2 in it; what begins on line 1 is no connector"):
        imported({"a": 1})
