"""Positions of connectors: shown, and changed while a connector is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Request

from heliograph.control.connector import Connector, RunState
from heliograph.control.connector_offsets import ConnectorOffset, ConnectorOffsets, InvalidOffset, check_offset
from heliograph.control.rest.connect.answers import MessageAnswer, OffsetAnswer, OffsetsAnswer
from heliograph.control.rest.connect.bodies import JsonObject
from heliograph.control.rest.connect.names import Asked, NamedConnector
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Admin, Caller, Role, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_mirror import RunningMirror
from heliograph.model import TopicPartition

_REST_SECONDS = 30.0

router = APIRouter()
_viewers = [needs(Role.VIEWER)]


@router.get("/{connector}/offsets", dependencies=_viewers)
def show(asked: Asked) -> OffsetsAnswer:
    """Every position that is kept for a connector."""
    found = ConnectorOffsets(asked.flow.config, asked.connector).read()
    return OffsetsAnswer(offsets=[OffsetAnswer(partition=item.partition, offset=item.offset or {}) for item in found])


@router.patch("/{connector}/offsets")
def alter(request: Request, caller: Admin, asked: Asked, body: JsonObject) -> MessageAnswer:
    """Set positions: n means that n is done; null means that nothing is."""
    items = [_offset(item) for item in _listed(body)]
    _check_stopped(asked)
    try:
        for item in items:
            check_offset(asked.connector, item)
    except InvalidOffset as error:
        raise RestError(400, str(error)) from None
    _change(request, caller, asked, lambda offsets: offsets.alter(items), _summary(items))
    return MessageAnswer(message="The offsets for this connector have been altered successfully")


@router.delete("/{connector}/offsets")
def reset(request: Request, caller: Admin, asked: Asked) -> MessageAnswer:
    """Forget all positions."""
    _check_stopped(asked)
    _change(request, caller, asked, lambda offsets: offsets.reset(), {"offsets": "all forgotten"})
    return MessageAnswer(message="The offsets for this connector have been reset successfully")


def _listed(body: dict[str, Any]) -> list[Any]:
    strange = sorted(body.keys() - {"offsets"})
    if strange:
        raise RestError(400, f"the body may only hold offsets, not {', '.join(strange)}")
    offsets = body.get("offsets")
    if not offsets and (offsets is None or isinstance(offsets, list)):
        raise RestError(400, "Partitions / offsets need to be provided for an alter offsets request")
    if not isinstance(offsets, list):
        raise RestError(400, "offsets must be a list")
    return offsets


def _offset(item: Any) -> ConnectorOffset:
    if not isinstance(item, dict) or item.keys() - {"partition", "offset"}:
        raise RestError(400, "each of the offsets must be an object of partition and offset")
    partition, offset = item.get("partition"), item.get("offset")
    if not isinstance(partition, dict | None) or not isinstance(offset, dict | None):
        raise RestError(400, "partition and offset must be objects or null")
    return ConnectorOffset(partition, offset)


def _check_stopped(asked: NamedConnector) -> None:
    if asked.flow.states[asked.connector] is not RunState.STOPPED:
        raise RestError(
            400,
            "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the"
            f" specified connector by issuing a 'PUT' request to the '/connectors/{asked.name}/stop' endpoint",
        )


def _change(
    request: Request,
    caller: Caller,
    asked: NamedConnector,
    change: Callable[[ConnectorOffsets], list[TopicPartition]],
    after: dict[str, object],
) -> None:
    site = site_of(request)
    offsets = ConnectorOffsets(asked.flow.config, asked.connector)
    with _at_rest(site.mirror, asked):
        before = _summary(offsets.read())
        _follow(asked, change(offsets))
    site.audit.write(caller, f"offsets of {asked.connector.value} of {asked.flow.name}", before, after)


@contextmanager
def _at_rest(mirror: RunningMirror, asked: NamedConnector) -> Iterator[None]:
    """Wait until no lane can write a position any more: all have ended, and those of others are fenced."""
    driver = asked.flow.driver
    if asked.connector is Connector.SOURCE and driver is not None:
        if asked.flow.has_ended() or not driver.in_charge.is_set():
            raise RestError(409, f"{asked.flow.name} does not belong to this process, or is just starting: try again")
        mirror.restart(asked.flow, asked.connector)
        if not driver.in_charge.wait(_REST_SECONDS):
            raise RestError(503, f"the lanes of {asked.flow.name} have not ended yet: try again")
    yield


def _follow(asked: NamedConnector, changed: Sequence[TopicPartition]) -> None:
    """Let the driver know, so that lag is told from the new positions on."""
    driver = asked.flow.driver
    if asked.connector is not Connector.SOURCE or driver is None:
        return
    for where in changed:
        driver.totals.last_offsets.pop(where, None)
    driver.confirm_owner()


def _summary(items: Sequence[ConnectorOffset]) -> dict[str, object]:
    return {"offsets": [{"partition": item.partition, "offset": item.offset} for item in items]}
