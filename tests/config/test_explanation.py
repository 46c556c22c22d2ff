from __future__ import annotations

from collections.abc import Callable

from heliograph.config.explanation import Group, explain, explain_flow
from heliograph.config.mirror_config import MirrorConfig

Load = Callable[..., MirrorConfig]


def texts(groups: tuple[Group, ...], title: str) -> dict[str, tuple[str, str]]:
    group = next(group for group in groups if group.title == title)
    return {setting.name: (setting.text, str(setting.origin.line or setting.origin)) for setting in group.settings}


def test_every_value_comes_with_its_line(load_text: Load) -> None:
    groups = explain(load_text("tasks.max = 2\na.consumer.client.rack = r1\nspark.master = local[2]\n"))
    assert [group.title for group in groups] == [
        "top level",
        *(f"cluster a, {part}" for part in ("all clients", "consumer", "producer", "admin")),
        *(f"cluster b, {part}" for part in ("all clients", "consumer", "producer", "admin")),
        "flow a->b",
        "flow b->a (heartbeats only)",
    ]
    assert texts(groups, "top level")["spark.master"] == ("local[2]", "7")
    assert texts(groups, "cluster a, all clients")["bootstrap.servers"] == ("a:9092", "2")
    assert texts(groups, "cluster a, consumer")["client.rack"] == ("r1", "6")
    assert texts(groups, "flow a->b")["tasks.max"] == ("2", "5")
    assert texts(groups, "flow a->b")["topics"] == (".*", "default")
    assert texts(groups, "flow a->b")["group.id"] == ("a-mm2", "derived")


def test_keys_without_effect_are_shown_only_where_they_are_set(load_text: Load) -> None:
    shown = texts(explain(load_text("plugin.path = /x\n")), "flow a->b")
    assert shown["plugin.path"] == ("/x", "5")
    assert "plugin.discovery" not in shown


def test_a_setting_that_differs_by_role_is_shown_with_the_role(load_text: Load) -> None:
    groups = explain(load_text("a.producer.request.timeout.ms = 5\n"))
    assert "request.timeout.ms" not in texts(groups, "cluster a, all clients")
    assert texts(groups, "cluster a, producer")["request.timeout.ms"] == ("5", "5")
    assert texts(groups, "cluster a, consumer")["request.timeout.ms"] == ("30000", "default")


def test_a_flow_is_explained_with_its_clusters_as_it_sees_them(load_text: Load) -> None:
    config = load_text("a->b.source.consumer.client.rack = r1\n")
    groups = explain_flow(config.flows[0])
    assert texts(groups, "source a, consumer")["client.rack"] == ("r1", "5")
    assert texts(groups, "target b, consumer")["client.rack"] == ("", "default")
