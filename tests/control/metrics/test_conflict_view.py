"""What the page of metrics tells of conflicts."""

from __future__ import annotations

import time
from pathlib import Path

from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.partition_view import OTHER
from tests.control.metrics.scrape import Scrape
from tests.control.metrics.still_mirror import StillMirror

_ON = "B->A.enabled = true\nconflicts.topics = orders, carts, .*\n"


class Watched:
    """A mirror that looks for conflicts on A and B, and its metrics."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.mirror = StillMirror.of(folder, _ON + settings).mirror
        self.totals = self.mirror.conflicts["B"].totals
        self._metrics = MirrorMetrics(self.mirror)

    def scrape(self) -> Scrape:
        """A page made now."""
        self._metrics._good_until = 0
        return Scrape.of(self._metrics.page().text.decode())


def test_every_cluster_that_looks_for_conflicts_has_its_counters_from_the_start(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    page = watched.scrape()
    for alias in ("A", "B"):
        assert page.value("heliograph_conflicts_total", cluster=alias) == 0
        assert page.value("heliograph_conflict_late_records_total", cluster=alias) == 0
        assert page.value("heliograph_conflict_detection_lag_seconds", cluster=alias) == 0
        assert page.value("heliograph_conflict_detection_in_trouble", cluster=alias) == 0
    totals = watched.totals
    totals.records, totals.conflicts, totals.late, totals.waiting, totals.restarts = 900, 4, 2, 11, 1
    totals.trouble, totals.unreadable = "no broker answers", 5
    page = watched.scrape()
    shown = {
        name: page.value(f"heliograph_{name}", cluster="B")
        for name in (
            *("conflict_records_total", "conflicts_total", "conflict_late_records_total"),
            *("conflict_waiting_records", "conflict_detection_restarts_total", "conflict_detection_in_trouble"),
            "conflict_unreadable_offsets_total",
        )
    }
    assert list(shown.values()) == [900, 4, 2, 11, 1, 1, 5]
    assert page.value("heliograph_conflicts_total", cluster="A") == 0


def test_without_detection_there_are_no_series(tmp_path: Path) -> None:
    page = Scrape.of(MirrorMetrics(StillMirror.of(tmp_path).mirror).page().text.decode())
    assert not {name for name in page.names if "conflict" in name}


def test_the_lag_is_the_age_of_the_watermark_while_something_waits(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.totals.watermark_ms = int((time.time() - 70) * 1000)
    assert watched.scrape().value("heliograph_conflict_detection_lag_seconds", cluster="B") == 0
    watched.totals.waiting = 1
    assert 70 <= watched.scrape().value("heliograph_conflict_detection_lag_seconds", cluster="B") < 100
    watched.totals.watermark_ms += 3_600_000
    assert watched.scrape().value("heliograph_conflict_detection_lag_seconds", cluster="B") == 0
    watched.totals.watermark_ms = 0
    assert watched.scrape().get("heliograph_conflict_detection_lag_seconds", cluster="B") is None


def test_topics_beyond_the_limit_are_one_series_and_no_counter_falls(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "metrics.partitions.max = 2\n")
    by_topic = watched.totals.by_topic

    def shown() -> dict[str, float]:
        found = watched.scrape().all("heliograph_topic_conflicts_total", cluster="B")
        return {dict(labels)["topic"]: value for labels, value in found.items()}

    assert shown() == {}
    by_topic.update(orders=1, carts=2)
    assert shown() == {"orders": 1, "carts": 2}
    by_topic.update(users=50, clicks=60)
    assert shown() == {"orders": 1, "carts": 2, OTHER: 110}
