"""What changes seldom and takes a while to learn: how long source topics keep records, when certificates end.

It is looked up now and then beside the scrapes that ask for it, and remembered: a scrape waits for no broker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from heliograph.config import stores
from heliograph.config.mirror_config import MirrorConfig
from heliograph.config.secret import Secret
from heliograph.config.setting import value_text
from heliograph.config.stores import StoreError, TlsSettings
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import HeliographError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import TopicSetting

log = logging.getLogger(__name__)

REST = "(rest)"  # stands where the alias of a cluster stands otherwise
_INTERVAL = 300.0
_SOON = 5.0
_REST_PREFIX = "listeners.https."
_FOR_EVER = -1
_DAY = 86_400.0


@dataclass(frozen=True)
class Certificate:
    """The certificate of a store that ends first."""

    cluster: str
    store: str
    subject: str
    not_after: datetime

    @property
    def days_left(self) -> float:
        """Negative once it has ended."""
        return round((self.not_after - datetime.now(UTC)).total_seconds() / _DAY, 3)


class SlowFacts:
    """All that has been learned so far."""

    def __init__(self, mirror: RunningMirror) -> None:
        self._mirror = mirror
        self._began = time.monotonic()
        self._retention: dict[str, Mapping[str, float]] = {}  # by flow and source topic, in seconds
        self._asked: dict[str, set[str]] = {}  # the topics of each flow that were asked about
        self._read_at: dict[str, float] = {}
        self._certificates: dict[tuple[str, str], Certificate] = {}
        self._due_at = self._soon_at = 0.0
        self._failures: dict[str, str] = {}
        self._thread: threading.Thread | None = None

    def retention(self, flow: RunningFlow) -> Mapping[str, float]:
        """For how many seconds each source topic keeps records; without those that keep them for ever, or unknown."""
        return self._retention.get(flow.name, {})

    def seconds_since_read(self, flow: RunningFlow) -> float:
        """How old the answer about retention is."""
        return time.monotonic() - self._read_at.get(flow.name, self._began)

    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates that end first, one for each store."""
        return tuple(self._certificates.copy().values())

    def refresh(self) -> None:
        """Begin to look it up anew if it is time; does not wait for the answer."""
        is_busy = self._thread is not None and self._thread.is_alive()
        if is_busy or time.monotonic() < (self._soon_at if self._has_new_topics() else self._due_at):
            return
        self._thread = threading.Thread(target=self.look, name="metrics", daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Look it up now. What cannot be learned keeps its old value, and its age shows that."""
        self._certificates |= {(item.cluster, item.store): item for item in _certificates(self._mirror.config)}
        known = [self._look_at(flow) for flow in self._mirror.flows.values()]
        self._soon_at = time.monotonic() + _SOON
        self._due_at = time.monotonic() + (_INTERVAL if all(known) else _SOON)

    def _has_new_topics(self) -> bool:
        return any(_topics(flow) - self._asked.get(flow.name, set()) for flow in self._mirror.flows.values())

    def _look_at(self, flow: RunningFlow) -> bool:
        """Whether the source answered; before a flow has found its topics there is nothing to ask."""
        topics = _topics(flow)
        if not topics:
            return True
        try:
            with Admin(access_for(flow.config.source, "admin")) as admin:
                settings = admin.topic_settings(topics)
        except HeliographError as error:
            self._tell(flow.name, str(error))
            return False
        self._tell(flow.name, "")
        self._retention[flow.name] = {
            topic: seconds for topic, items in settings.items() if (seconds := _kept_seconds(items)) is not None
        }
        self._asked[flow.name] = topics
        self._read_at[flow.name] = time.monotonic()
        return True

    def _tell(self, flow: str, failure: str) -> None:
        if failure and failure != self._failures.get(flow):
            log.warning("%s: how long the source keeps records cannot be asked: %s", flow, failure)
        self._failures[flow] = failure


def _topics(flow: RunningFlow) -> set[str]:
    return {item.source.topic for item in flow.driver.assignments} if flow.driver else set()


def _kept_seconds(settings: Mapping[str, TopicSetting]) -> float | None:
    policy, kept = settings.get("cleanup.policy"), settings.get("retention.ms")
    if policy is None or kept is None or "delete" not in (policy.value or ""):
        return None
    milliseconds = int(kept.value or _FOR_EVER)
    return None if milliseconds < 0 else milliseconds / 1000


def _certificates(config: MirrorConfig) -> Iterator[Certificate]:
    for alias, cluster in config.clusters.items():
        yield from _first_to_end(alias, {client.security.tls for client in cluster.clients.values()})
    yield from _first_to_end(REST, {_rest_tls(config)})


def _first_to_end(cluster: str, settings: set[TlsSettings | None]) -> Iterator[Certificate]:
    """Of each kind of store the certificate that ends first."""
    used = [tls for tls in settings if tls is not None]
    kinds = {
        "keystore": [replace(tls, truststore=None) for tls in used],
        "truststore": [replace(tls, keystore=None) for tls in used],
    }
    for store, members in kinds.items():
        found = [item for tls in members for item in _read(cluster, tls)]
        if found:
            first = min(found, key=lambda item: item.not_after)
            yield Certificate(cluster, store, first.subject, first.not_after)


def _read(cluster: str, tls: TlsSettings) -> list[stores.CertificateInfo]:
    try:
        return stores.certificates(tls)
    except StoreError as error:
        log.warning("%s: %s", cluster, error)
        return []


def _rest_tls(config: MirrorConfig) -> TlsSettings | None:
    texts = {
        name.removeprefix(_REST_PREFIX): item.value if isinstance(item.value, Secret) else value_text(item.value)
        for name, item in config.settings.items()
        if name.startswith(f"{_REST_PREFIX}ssl.")
    }
    try:
        return TlsSettings.from_client_settings(texts) if texts else None
    except StoreError as error:
        log.warning("%s: %s", REST, error)
        return None
