"""One round after the other: look at all flows, judge, push metrics, send alerts."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from heliograph.monitor.alerts import Alert, AlertBook, PostedAlerts
from heliograph.monitor.endpoint import Delivery, Endpoint
from heliograph.monitor.judgement import Thresholds, conditions
from heliograph.monitor.look import Look
from heliograph.monitor.metrics import exposition
from heliograph.monitor.observer import Observer
from heliograph.monitor.payloads import alertmanager_payload, webhook_payload

_TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
_SHORTEST_ALERT_MS = 300_000
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Receivers:
    """Who is told; None: nobody."""

    pushgateway: Endpoint | None = None
    webhook: Endpoint | None = None
    alertmanager: Endpoint | None = None


@dataclass(frozen=True)
class Pace:
    """How often rounds come, and how often a webhook is told again of what lasts."""

    interval_seconds: float = 30.0
    repeat_minutes: float = 60.0


@dataclass(frozen=True)
class Round:
    """What one round has found, and what became of the messages about it."""

    at_ms: int
    looks: Sequence[Look]
    alerts: Sequence[Alert]
    deliveries: Sequence[Delivery]


class Monitor:
    """Watches some flows. Remembers what others were told; everything else is read anew in each round."""

    def __init__(self, observers: Sequence[Observer], thresholds: Thresholds, receivers: Receivers, pace: Pace) -> None:
        self._observers = observers
        self._thresholds = thresholds
        self._receivers = receivers
        self._alert_ms = max(_SHORTEST_ALERT_MS, int(pace.interval_seconds * 4_000))
        self._book = AlertBook(int(pace.repeat_minutes * 60_000))
        self._posted = PostedAlerts()
        self._successes: dict[str, int] = {}

    def round(self, stopping: threading.Event) -> Round | None:
        """Do one round; None when it was told to stop before all flows were looked at."""
        looks = self._look_at_all(stopping)
        if looks is None:
            return None
        now_ms = int(time.time() * 1000)
        self._successes |= {look.flow: look.at_ms for look in looks if look.is_complete}
        found = [condition for look in looks for condition in conditions(look, self._thresholds)]
        self._book.assess(found, {look.flow for look in looks if not look.is_complete}, now_ms)
        alerts = self._book.firing()
        deliveries = [*self._push(looks), *self._call_webhook(now_ms), *self._post_alerts(alerts, now_ms)]
        return Round(now_ms, looks, alerts, deliveries)

    def withdraw(self) -> list[Delivery]:
        """Take the metrics back: nobody will keep them up to date any more."""
        gateway = self._receivers.pushgateway
        flows = [(observer.flow.source.alias, observer.flow.target.alias) for observer in self._observers]
        return [gateway.send("DELETE", _group(*flow)) for flow in flows] if gateway else []

    def _look_at_all(self, stopping: threading.Event) -> list[Look] | None:
        """All flows side by side, so that a cluster that hangs delays nothing but its own."""
        looks: dict[int, Look] = {}
        failures: list[Exception] = []

        def look(number: int, observer: Observer) -> None:
            try:
                looks[number] = observer.look()
            except Exception as error:  # raised again below, by the thread that can end the command
                failures.append(error)

        threads = [threading.Thread(target=look, args=item, daemon=True) for item in enumerate(self._observers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                if stopping.is_set():
                    return None
                thread.join(_LOOK_SECONDS)
        if failures:
            raise failures[0]
        return [looks[number] for number in sorted(looks)]

    def _push(self, looks: Sequence[Look]) -> list[Delivery]:
        gateway = self._receivers.pushgateway
        if gateway is None:
            return []
        headers = {"Content-Type": _TEXT_FORMAT}
        return [
            gateway.send(
                "PUT",
                _group(look.source, look.target),
                content=exposition(look, self._successes.get(look.flow)),
                headers=headers,
            )
            for look in looks
        ]

    def _call_webhook(self, now_ms: int) -> list[Delivery]:
        webhook = self._receivers.webhook
        deliveries: list[Delivery] = []
        for alert in self._book.due(now_ms) if webhook else ():
            assert webhook is not None
            deliveries.append(webhook.send("POST", json=webhook_payload(alert, now_ms)))
            if not deliveries[-1].failure:
                self._book.told(alert, now_ms)
        return deliveries

    def _post_alerts(self, alerts: Sequence[Alert], now_ms: int) -> list[Delivery]:
        manager = self._receivers.alertmanager
        batch = self._posted.batch(alerts, now_ms)
        if manager is None or not batch:
            return []
        payload = [alertmanager_payload(alert, now_ms + self._alert_ms, _generator(alert)) for alert in batch]
        delivery = manager.send("POST", "/api/v2/alerts", json=payload)
        if not delivery.failure:
            self._posted.posted(batch)
        return [delivery]


def _group(source: str, target: str) -> str:
    """Where a Pushgateway keeps the metrics of one flow: each PUT replaces all of them, and no other flow's."""
    return f"/metrics/job/mirrormaker_monitor/source/{quote(source, safe='')}/target/{quote(target, safe='')}"


def _generator(alert: Alert) -> str:
    """Which machine says so, as a URL, since Alertmanager asks for one."""
    return f"heliograph://{quote(socket.gethostname())}/monitor/{quote(alert.subject.flow, safe='')}"
