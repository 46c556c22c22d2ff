"""What journals tell of operations, of this process and of any other; read at most every few seconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from heliograph.control.ledger_tail import read_tail
from heliograph.control.rest.lookups import Recent
from heliograph.control.rest.operation_answers import OperationAnswer
from heliograph.control.rest.operation_views import journal_views
from heliograph.control.running_flow import RunningFlow
from heliograph.errors import BrokerRefused, ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.network import opened
from heliograph.sync.topics import flow_topics

_RECENT_SECONDS = 5.0
_PATIENCE_MS = 3_000  # this is looked at when clusters are in trouble, and must not wait for them
_CONNECT_MS = 1_500
_NO_SUCH_TOPIC = 3
_AT_ONCE = 8


@dataclass(frozen=True)
class Told:
    """What the journal of one flow tells; a trouble says why it could not be read."""

    operations: Sequence[OperationAnswer] = ()
    trouble: str = ""


class Journals:
    """The journals of all flows of this process."""

    def __init__(self) -> None:
        self._recent: Recent[Told] = Recent(_RECENT_SECONDS)

    def read(self, flows: Iterable[RunningFlow]) -> list[Told]:
        """What each flow's journal tells; flows that mirror nothing have none."""
        mirroring = [flow for flow in flows if flow.driver is not None]
        with ThreadPoolExecutor(_AT_ONCE) as pool:  # those that wait for a lost cluster hold up no others
            return list(pool.map(lambda flow: self._recent.get(flow, _read), mirroring))


def _read(flow: RunningFlow) -> Told:
    access = replace(
        access_for(flow.config.target, "admin"), request_timeout_ms=_PATIENCE_MS, connect_timeout_ms=_CONNECT_MS
    )
    topics = flow_topics(flow.config)
    try:
        with opened(access) as (loop, network):
            tail = read_tail(loop, network, topics, int(time.time() * 1000))
    except ClusterError as error:
        if isinstance(error, BrokerRefused) and error.code == _NO_SUCH_TOPIC:  # it has never run
            return Told()
        return Told(trouble=f"{flow.name}: {error}")
    return Told(journal_views(flow.name, tail.notes))
