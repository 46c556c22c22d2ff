"""The dashboard is well formed, every expression is understood, and shows something of a mirror that runs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.deploy.expressions import TOLD_BY_OTHERS, dashboard, declared, names_in, panels
from tests.deploy.live_run import LiveRun
from tests.waiting import wait_until

_SEEDS = {
    "Replication Lag by Topic": ("timeseries", "sum by (topic) (mirrormaker_offset_lag)"),
    "Replication Latency": ("gauge", "kafka_connect_mirror_source_connector_replication_latency_ms_avg"),
    "Records Replicated per Second": ("stat", "sum(rate(kafka_connect_mirror_source_connector_record_count[5m]))"),
    "Bytes Replicated per Second": ("timeseries", "sum by (topic) (kafka_connect_mirror_source_connector_byte_rate)"),
}
_EMPTY_WHEN_ALL_IS_WELL = {
    "Chores that fail",
    "Certificates: days left",
    "Conflicts settled",  # as the next two: nobody looks for conflicts there
    "Conflict detection: behind",
    "Records too late for conflict detection",
}
_FILTER = 'source=~"$source",target=~"$target"'


def _expressions() -> list[tuple[str, str]]:
    return [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]


def _chosen(expression: str) -> str:
    """As Grafana sends it when everything is chosen."""
    return expression.replace("$source", ".*").replace("$target", ".*")


def test_panels_have_what_grafana_needs() -> None:
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(set(ids)) == len(ids)
    assert len({panel["title"] for panel in panels()}) == len(panels())
    for panel in panels():
        assert panel["type"] in {"timeseries", "stat", "gauge", "table", "bargauge"}
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["fieldConfig"]["defaults"]["unit"]
        references = [target["refId"] for target in panel["targets"]]
        assert references
        assert len(set(references)) == len(references)


def test_panels_do_not_overlap_and_stay_within_the_grid() -> None:
    boxes = [(panel["title"], panel["gridPos"]) for panel in dashboard()["panels"]]
    for title, box in boxes:
        assert 0 <= box["x"] < box["x"] + box["w"] <= 24, title
    overlapping = [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
        and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
    ]  # fmt: skip
    assert overlapping == []


def test_it_can_be_turned_to_any_data_source_and_flow() -> None:
    variables = {item["name"]: item for item in dashboard()["templating"]["list"]}
    assert variables.keys() == {"datasource", "source", "target"}
    assert variables["datasource"]["type"] == "datasource"
    for name in ("source", "target"):
        assert variables[name]["definition"] == f"label_values(heliograph_flow_healthy, {name})"
        assert variables[name]["includeAll"]
    known = declared()
    for title, expression in _expressions():
        has_flows = any({"source", "target"} <= set(known.get(name, ())) for name in names_in(expression))
        assert (_FILTER in expression) is has_flows, title


def test_the_panels_that_people_know_are_there() -> None:
    found = {panel["title"]: panel for panel in panels()}
    for title, (kind, expression) in _SEEDS.items():
        assert found[title]["type"] == kind
        [target] = found[title]["targets"]
        assert target["expr"].replace(f"{{{_FILTER}}}", "") == expression


def test_all_metrics_that_it_shows_are_declared() -> None:
    named = {name for _, expression in _expressions() for name in names_in(expression)}
    foreign = {name for name in named if name.startswith("process_")}
    assert named - declared().keys() - TOLD_BY_OTHERS - foreign == set()


@pytest.mark.kafka
@pytest.mark.spark
def test_every_expression_is_understood_and_shows_something(live: LiveRun) -> None:
    with live.load():  # rates take two scrapes with something between them

        def silent() -> list[tuple[str, str]]:
            return [
                (title, expression)
                for title, expression in _expressions()
                if title not in _EMPTY_WHEN_ALL_IS_WELL and not _numbers(live, _chosen(expression))
            ]

        wait_until(lambda: not silent(), "something in every panel", 60, 1.0)
        for title in _EMPTY_WHEN_ALL_IS_WELL:
            [expression] = [text for name, text in _expressions() if name == title]
            assert live.prometheus.query(_chosen(expression)) == {}
        for _, expression in _SEEDS.values():
            assert _numbers(live, expression)


def _numbers(live: LiveRun, expression: str) -> list[Any]:
    """What is a number: a quantile of nothing is none."""
    return [value for value in live.prometheus.query(expression).values() if value == value]
