"""The settings of connectors, read and changed. All connectors of a flow share its settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from fastapi import APIRouter, Request

from heliograph.config.overrides import Changes
from heliograph.control.connector_config import (
    CONNECTOR_CLASS,
    ConfigRevision,
    config_texts,
    connector_of_class,
)
from heliograph.control.rest.connect.answers import InfoAnswer
from heliograph.control.rest.connect.bodies import JsonObject, config_map
from heliograph.control.rest.connect.connectors import NOT_CREATED, info_of
from heliograph.control.rest.connect.names import Asked, Listed, NamedConnector
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Admin, Caller, Role, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import ConfigError

_SEE_ALSO = (
    "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
)
_AS_IN_FILE = "(as in the file)"

router = APIRouter()
_viewers = [needs(Role.VIEWER)]
_writing = threading.Lock()  # what is written depends on what was there


@router.get("/{connector}/config", dependencies=_viewers)
async def config(asked: Asked) -> dict[str, str]:
    """All settings that the file or a change over REST says."""
    return config_texts(asked.flow.config, asked.connector, asked.name)


@router.put("/{connector}/config")
def replace(request: Request, caller: Admin, listed: Listed, connector: str, body: JsonObject) -> InfoAnswer:
    """The whole map: what is left out gets its default."""
    wanted = config_map(body)
    if wanted.get("name", connector) != connector:
        raise RestError(400, f"the name in the settings, {wanted['name']}, is not {connector}")
    if wanted.get(CONNECTOR_CLASS) is None:
        raise RestError(400, f"{CONNECTOR_CLASS} is missing")
    if connector not in listed:
        raise RestError(405, NOT_CREATED)
    with _writing:
        return _write(request, caller, listed[connector], wanted)


@router.patch("/{connector}/config")
def merge(request: Request, caller: Admin, asked: Asked, body: JsonObject) -> InfoAnswer:
    """Some settings; null takes one away."""
    patch = config_map(body)
    with _writing:
        present = config_texts(asked.flow.config, asked.connector, asked.name)
        return _write(request, caller, asked, {**present, **patch})


def _write(request: Request, caller: Caller, asked: NamedConnector, wanted: Mapping[str, str | None]) -> InfoAnswer:
    site = site_of(request)
    mirror, flow = site.mirror, asked.flow
    texts = {name: value for name, value in wanted.items() if value is not None}
    _check_identity(asked, texts)
    before = mirror.changes(flow)
    try:
        changes = checked_changes(mirror, flow, texts)
        if changes != before:
            mirror.change_settings(flow, changes, caller.name)
            site.audit.write(caller, f"settings of {flow.name}", *_difference(before, changes))
    except ConfigError as error:
        raise RestError(400, _told(error)) from None
    return info_of(asked)


def checked_changes(mirror: RunningMirror, flow: RunningFlow, wanted: Mapping[str, str]) -> Changes:
    """The changes that make the settings of a flow the wanted ones; raises ConfigError with what is wrong."""
    others = {name: mirror.changes(item) for name, item in mirror.flows.items() if item is not flow}
    file = mirror.config.with_changes(others).flow(flow.name)
    assert file is not None
    revision = ConfigRevision(flow.config, file, mirror.changes(flow))
    changes = revision.changes(wanted)
    after = mirror.checked(flow, changes).flow(flow.name)
    assert after is not None
    revision.check_effect(changes, after)
    return changes


def _check_identity(asked: NamedConnector, wanted: Mapping[str, str]) -> None:
    """A connector stays what it is; what does not say so is taken to mean it."""
    present = config_texts(asked.flow.config, asked.connector, asked.name)
    if connector_of_class(wanted.get(CONNECTOR_CLASS, asked.connector.value)) is not asked.connector:
        raise RestError(400, f"{CONNECTOR_CLASS} of {asked.name} is {present[CONNECTOR_CLASS]}, and cannot be changed")
    for name in ("name", "source.cluster.alias", "target.cluster.alias", "enabled"):
        if wanted.get(name, present[name]) != present[name]:
            raise RestError(400, f"{name} of {asked.name} is {present[name]}: change the file and restart")


def _told(error: ConfigError) -> str:
    lines = [f"Connector configuration is invalid and contains the following {len(error.problems)} error(s):"]
    return "\n".join([*lines, *map(str, error.problems), _SEE_ALSO])


def _difference(before: Changes, after: Changes) -> tuple[dict[str, object], dict[str, object]]:
    """What is not the same, from both sides; names that the file alone decides on say so."""
    names = [name for name in {**before, **after} if before.get(name, _AS_IN_FILE) != after.get(name, _AS_IN_FILE)]
    return (
        {name: before.get(name, _AS_IN_FILE) for name in names},
        {name: after.get(name, _AS_IN_FILE) for name in names},
    )
