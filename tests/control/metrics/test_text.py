from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from heliograph.control.metrics.histogram import Histogram
from heliograph.control.metrics.metric import Group, Kind, Metric
from heliograph.control.metrics.text import label_text, render

_ODD = 'a "quoted" back\\slash\nand line'


def _page(*metrics: Metric[Any], labels: tuple[str, ...] = ("name",), rows: tuple[str, ...] = ("x", "y")) -> str:
    group = Group[str]("t", labels, lambda _: rows, lambda row: (row,) if labels else (), metrics)
    return render([group], None)  # type: ignore[arg-type]


def test_each_name_has_its_help_and_type_once_before_its_series() -> None:
    metric = Metric("m_total", Kind.COUNTER, "Help.", {"x": 1, "y": 2.5}.__getitem__, ("other_total",))
    assert _page(metric).splitlines() == [
        "# HELP m_total Help.",
        "# TYPE m_total counter",
        'm_total{name="x"} 1',
        'm_total{name="y"} 2.5',
        "# HELP other_total Help.",
        "# TYPE other_total counter",
        'other_total{name="x"} 1',
        'other_total{name="y"} 2.5',
    ]


def test_a_row_without_value_has_no_series_and_a_metric_without_series_is_left_out() -> None:
    some = Metric("some", Kind.GAUGE, "h", {"x": None, "y": 0}.__getitem__)
    none = Metric("none", Kind.GAUGE, "h", lambda _: None)
    page = _page(some, none)
    assert 'some{name="y"} 0' in page
    assert 'name="x"' not in page
    assert "none" not in page


def test_odd_texts_survive() -> None:
    metric = Metric("m", Kind.GAUGE, _ODD, lambda _: 1)
    [family] = text_string_to_metric_families(_page(metric, rows=(_ODD,)))
    assert family.samples[0].labels == {"name": _ODD}
    assert family.documentation == _ODD


def test_without_labels_there_are_no_braces() -> None:
    assert label_text((), ()) == ""
    assert "\nm 3\n" in _page(Metric("m", Kind.GAUGE, "h", lambda _: 3), labels=(), rows=("x",))


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 2, 10, 11, 1000):
        histogram.observe(value)
    page = _page(Metric("h", Kind.HISTOGRAM, "h", lambda _: histogram.distribution()), rows=("x",))
    assert [line for line in page.splitlines() if not line.startswith("#")] == [
        'h_bucket{name="x",le="1"} 2',
        'h_bucket{name="x",le="10"} 4',
        'h_bucket{name="x",le="+Inf"} 6',
        'h_sum{name="x"} 1024.5',
        'h_count{name="x"} 6',
    ]
    [family] = text_string_to_metric_families(page)
    assert family.type == "histogram"
