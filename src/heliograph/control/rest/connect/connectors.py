"""Connectors: listed, looked at, paused, resumed, stopped, restarted. The file decides which there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from heliograph.control.connector import RunState
from heliograph.control.connector_config import config_texts
from heliograph.control.rest.connect import states
from heliograph.control.rest.connect.answers import SOURCE, ExpandedAnswer, InfoAnswer, StatusAnswer, TaskIdAnswer
from heliograph.control.rest.connect.bodies import JsonObject, config_map
from heliograph.control.rest.connect.names import Asked, Listed, NamedConnector
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Admin, Caller, Operator, Role, needs
from heliograph.control.rest.site import site_of

NOT_CREATED = (
    "connectors are not created over REST: write SOURCE->TARGET.enabled = true into the configuration file and restart"
)
_NOT_DELETED = (
    "connectors are not deleted over REST: take their flow out of the configuration file and restart, or stop them here"
)
_INFO, _STATUS = "info", "status"

router = APIRouter()
_viewers = [needs(Role.VIEWER)]


@router.get("", dependencies=_viewers, response_model_exclude_unset=True)
@router.get("/", dependencies=_viewers, response_model_exclude_unset=True, include_in_schema=False)
async def list_connectors(
    request: Request, listed: Listed, expand: Annotated[list[str] | None, Query()] = None
) -> list[str] | dict[str, ExpandedAnswer]:
    """The names of all connectors; with `expand`, what else is asked for."""
    if expand is None:
        return list(listed)
    return {name: _expanded(asked, expand, states.worker_id(request)) for name, asked in listed.items()}


def _expanded(asked: NamedConnector, wanted: Sequence[str], worker: str) -> ExpandedAnswer:
    answer = ExpandedAnswer()
    if _STATUS in wanted:
        answer.status = states.status_of(asked, worker)
    if _INFO in wanted:
        answer.info = info_of(asked)
    return answer


def info_of(asked: NamedConnector) -> InfoAnswer:
    """A connector with its settings and tasks."""
    count = len(states.task_states(asked.flow, asked.connector))
    return InfoAnswer(
        name=asked.name,
        config=config_texts(asked.flow.config, asked.connector, asked.name),
        tasks=[TaskIdAnswer(connector=asked.name, task=number) for number in range(count)],
        type=SOURCE,
    )


@router.post("", status_code=201)
@router.post("/", status_code=201, include_in_schema=False)
async def create(_: Admin, listed: Listed, body: JsonObject) -> InfoAnswer:
    """Always refused: the file decides which connectors there are."""
    name = body.get("name")
    config = config_map(body.get("config"), "config")
    if not isinstance(name, str) or not name.strip():
        raise RestError(400, "the name of the connector is missing")
    if config.get("name", name) != name:
        raise RestError(400, f"the name in config, {config['name']}, is not {name}")
    if name.strip() in listed:
        raise RestError(409, f"Connector {name.strip()} already exists")
    raise RestError(405, NOT_CREATED)


@router.get("/{connector}", dependencies=_viewers)
async def info(asked: Asked) -> InfoAnswer:
    """One connector with its settings and tasks."""
    return info_of(asked)


@router.delete("/{connector}", status_code=204)
async def delete(_: Admin, asked: Asked) -> None:
    """Always refused: the file decides which connectors there are."""
    raise RestError(405, f"{asked.name}: {_NOT_DELETED}")


@router.get("/{connector}/status", dependencies=_viewers, response_model_exclude_unset=True)
async def status(request: Request, asked: Asked) -> StatusAnswer:
    """How a connector and its tasks are."""
    return states.status_of(asked, states.worker_id(request))


@router.put("/{connector}/pause", status_code=202)
def pause(request: Request, caller: Operator, asked: Asked) -> Response:
    """Commit what is under way, and do nothing more until it is resumed; also over restarts."""
    return _told(request, caller, asked, RunState.PAUSED, 202)


@router.put("/{connector}/resume", status_code=202)
def resume(request: Request, caller: Operator, asked: Asked) -> Response:
    """Go on."""
    return _told(request, caller, asked, RunState.RUNNING, 202)


@router.put("/{connector}/stop", status_code=204)
def stop(request: Request, caller: Operator, asked: Asked) -> Response:
    """As pausing, and give up all tasks; positions can be changed then."""
    return _told(request, caller, asked, RunState.STOPPED, 204)


def _told(request: Request, caller: Caller, asked: NamedConnector, state: RunState, code: int) -> Response:
    site = site_of(request)
    before = asked.flow.states[asked.connector]
    site.mirror.change_state(asked.flow, asked.connector, state)
    what = f"state of {asked.connector.value} of {asked.flow.name}"
    site.audit.write(caller, what, {"state": before.value}, {"state": state.value})
    return Response(status_code=code)


@router.post("/{connector}/restart", status_code=204)
def restart(
    request: Request,
    caller: Operator,
    asked: Asked,
    include_tasks: Annotated[str, Query(alias="includeTasks")] = "false",
    only_failed: Annotated[str, Query(alias="onlyFailed")] = "false",
) -> Response:
    """Begin from scratch; with `includeTasks` or `onlyFailed`, tell what was restarted."""
    with_tasks, if_failed = (text.lower() == "true" for text in (include_tasks, only_failed))
    found = states.status_of(asked, states.worker_id(request))
    chosen = [found.connector, *(found.tasks if with_tasks else ())]
    restarted = [item for item in chosen if not if_failed or item.state == states.FAILED]
    if restarted:
        begin_anew(request, caller, asked)
    if not with_tasks and not if_failed:
        return Response(status_code=204)
    for item in restarted:
        item.state = states.RESTARTING
    return JSONResponse(found.model_dump(exclude_unset=True), 202)


def begin_anew(request: Request, caller: Caller, asked: NamedConnector) -> None:
    """Restart a connector with all its tasks."""
    site = site_of(request)
    state = {"state": asked.flow.states[asked.connector].value}
    site.mirror.restart(asked.flow, asked.connector)
    site.audit.write(caller, f"restart of {asked.connector.value} of {asked.flow.name}", state, state)
