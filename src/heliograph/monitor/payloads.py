"""Alerts in the words of those who receive them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from heliograph.monitor.alerts import Alert, Kind

_TITLES = {
    Kind.LAG: "MirrorMaker Replication Lag Alert",
    Kind.LATENCY: "MirrorMaker Replication Latency Alert",
    Kind.CANNOT_LOOK: "MirrorMaker Monitor Cannot Look",
}
_NAMES = {
    Kind.LAG: "MirrorMakerReplicationLag",
    Kind.LATENCY: "MirrorMakerReplicationLatency",
    Kind.CANNOT_LOOK: "MirrorMakerMonitorCannotLook",
}
_VALUES = {Kind.LAG: "lag", Kind.LATENCY: "latency_ms", Kind.CANNOT_LOOK: "value"}


def webhook_payload(alert: Alert, now_ms: int) -> dict[str, Any]:
    """One alert as JSON values for a webhook."""
    subject, condition = alert.subject, alert.condition
    labels = {"topic": subject.topic, _VALUES[subject.kind]: condition.value, "threshold": condition.threshold}
    return {
        "status": _status(alert),
        "severity": alert.severity.value,
        "title": _TITLES[subject.kind],
        "message": condition.message,
        "timestamp": iso_time(now_ms),
        "source": subject.source,
        "target": subject.target,
        "labels": {name: value for name, value in labels.items() if value not in ("", None)},
    }


def alertmanager_payload(alert: Alert, lasts_until_ms: int, generator: str) -> dict[str, Any]:
    """One alert for Alertmanager's API v2; one that fires ends by itself unless it is posted again before then."""
    subject, condition = alert.subject, alert.condition
    labels = {
        "alertname": _NAMES[subject.kind],
        "severity": alert.severity.value,
        "source": subject.source,
        "target": subject.target,
        "topic": subject.topic,
    }
    numbers = {_VALUES[subject.kind]: condition.value, "threshold": condition.threshold}
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {
            "summary": _TITLES[subject.kind],
            "description": condition.message,
            **{name: str(value) for name, value in numbers.items() if value is not None},
        },
        "startsAt": iso_time(alert.starts_ms),
        "endsAt": iso_time(lasts_until_ms if alert.ends_ms is None else alert.ends_ms),
        "generatorURL": generator,
    }


def iso_time(milliseconds: int) -> str:
    """A time in ISO 8601, UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _status(alert: Alert) -> str:
    return "resolved" if alert.is_resolved else "firing"
