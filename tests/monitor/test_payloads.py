"""What webhooks and Alertmanagers are told."""

from __future__ import annotations

from dataclasses import replace

from heliograph.monitor.alerts import Alert, Condition, Kind, Level, Subject
from heliograph.monitor.payloads import alertmanager_payload, webhook_payload

_START, _NOW = 1_800_000_000_000, 1_800_000_060_500
_LAG = Condition(Subject("a", "b", Kind.LAG, "orders"), Level.CRITICAL, "Topic orders is late", 30, 10)
_ALERT = Alert(_LAG, Level.CRITICAL, _START)
_OVER = replace(_ALERT, condition=replace(_LAG, level=Level.OK, value=0), ends_ms=_NOW)
_BLIND = Alert(Condition(Subject("a", "b", Kind.CANNOT_LOOK), Level.CRITICAL, "gone"), Level.CRITICAL, _START)


def test_a_webhook_gets_the_usual_fields() -> None:
    assert webhook_payload(_ALERT, _NOW) == {
        "status": "firing",
        "severity": "critical",
        "title": "MirrorMaker Replication Lag Alert",
        "message": "Topic orders is late",
        "timestamp": "2027-01-15T08:01:00.500+00:00",
        "source": "a",
        "target": "b",
        "labels": {"topic": "orders", "lag": 30, "threshold": 10},
    }


def test_a_webhook_learns_of_the_end_with_the_severity_that_has_ended() -> None:
    payload = webhook_payload(_OVER, _NOW)
    assert (payload["status"], payload["severity"]) == ("resolved", "critical")
    assert payload["labels"] == {"topic": "orders", "lag": 0, "threshold": 10}


def test_an_alertmanager_gets_labels_that_stay_the_same_while_numbers_change() -> None:
    payload = alertmanager_payload(_ALERT, _NOW + 1000, "heliograph://here/monitor")
    assert payload["labels"] == {
        "alertname": "MirrorMakerReplicationLag", "severity": "critical", "source": "a", "target": "b",
        "topic": "orders",
    }  # fmt: skip
    assert payload["annotations"]["description"] == "Topic orders is late"
    assert (payload["annotations"]["lag"], payload["annotations"]["threshold"]) == ("30", "10")
    assert payload["startsAt"] == "2027-01-15T08:00:00.000+00:00"
    assert payload["endsAt"] == "2027-01-15T08:01:01.500+00:00"
    assert payload["generatorURL"] == "heliograph://here/monitor"


def test_an_alertmanager_learns_when_it_ended() -> None:
    assert alertmanager_payload(_OVER, _NOW + 1000, "x:y")["endsAt"] == "2027-01-15T08:01:00.500+00:00"


def test_what_is_not_about_a_topic_names_none() -> None:
    assert "topic" not in alertmanager_payload(_BLIND, _NOW, "x:y")["labels"]
    assert webhook_payload(_BLIND, _NOW)["labels"] == {}
