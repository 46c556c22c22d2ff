"""Deletes topics: what a rehearsal has created must not stay."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka.protocol.admin import DeleteTopicsRequest
from kafka.protocol.metadata import MetadataRequest

from heliograph.kafka.access import Access
from heliograph.kafka.network import Network, error_name, opened
from heliograph.kafka.topics import Outcome, Status

_UNKNOWN_TOPIC = 3
_HIGHEST_BY_NAME = 5  # later versions of the request are about topic ids


def delete_topics(access: Access, names: Collection[str]) -> dict[str, Outcome]:
    """Delete topics by their names. One that is gone already is fine."""
    if not names:
        return {}
    request = DeleteTopicsRequest(topic_names=sorted(names), timeout_ms=access.request_timeout_ms)
    with opened(access) as (_, network):
        controller = network.connection(_controller(network))
        answer = controller.call(request, controller.version(DeleteTopicsRequest, highest=_HIGHEST_BY_NAME))
    return {item.name: _outcome(item) for item in answer.responses}


def _controller(network: Network) -> int:
    anyone = network.anyone()
    return int(anyone.call(MetadataRequest(topics=[]), anyone.version(MetadataRequest, highest=9)).controller_id)


def _outcome(item: Any) -> Outcome:
    code = int(item.error_code)
    if code in (0, _UNKNOWN_TOPIC):
        return Outcome(Status.ALREADY if code else Status.DONE)
    return Outcome(Status.REFUSED, getattr(item, "error_message", "") or error_name(code), code)
