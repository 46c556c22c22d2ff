"""Tasks: the lanes of a source connector, and the single task of each other one."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request, Response

from heliograph.control.connector import Connector
from heliograph.control.connector_config import class_name, config_texts
from heliograph.control.rest.connect import states
from heliograph.control.rest.connect.answers import TaskAnswer, TaskIdAnswer, TaskStateAnswer
from heliograph.control.rest.connect.connectors import begin_anew
from heliograph.control.rest.connect.names import Asked, NamedConnector
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Operator, Role, needs

router = APIRouter()
_viewers = [needs(Role.VIEWER)]


@router.get("/{connector}/tasks", dependencies=_viewers)
async def list_tasks(asked: Asked) -> list[TaskAnswer]:
    """All tasks with their settings."""
    config = config_texts(asked.flow.config, asked.connector, asked.name)
    return [
        TaskAnswer(id=TaskIdAnswer(connector=asked.name, task=number), config={**config, **own})
        for number, own in enumerate(_own_settings(asked))
    ]


def _own_settings(asked: NamedConnector) -> Iterator[dict[str, str]]:
    """What only one task is told."""
    task_class = class_name(asked.connector).removesuffix("Connector") + "Task"
    if asked.connector is Connector.SOURCE:
        for lane in asked.flow.lanes():
            partitions = ",".join(str(item.source) for item in lane.assignments)
            yield _told(task_class, lane.number, {"task.assigned.partitions": partitions})
    else:
        for number, _ in enumerate(states.task_states(asked.flow, asked.connector)):
            yield _told(task_class, number, {})


def _told(task_class: str, number: int, more: dict[str, str]) -> dict[str, str]:
    return {"task.class": task_class, "task.index": str(number), **more}


@router.get("/{connector}/tasks/{task}/status", dependencies=_viewers, response_model_exclude_unset=True)
async def status(request: Request, asked: Asked, task: str) -> TaskStateAnswer:
    """How one task is."""
    found = states.task_states(asked.flow, asked.connector)
    number = _number(asked, task, len(found))
    return states.task_answer(number, found[number], states.worker_id(request))


@router.post("/{connector}/tasks/{task}/restart", status_code=204)
def restart(request: Request, caller: Operator, asked: Asked, task: str) -> Response:
    """Begin from scratch, with all tasks of the connector: they are planned together."""
    _number(asked, task, len(states.task_states(asked.flow, asked.connector)))
    begin_anew(request, caller, asked)
    return Response(status_code=204)


def _number(asked: NamedConnector, task: str, count: int) -> int:
    if not (task.isascii() and task.isdigit()) or int(task) >= count:
        raise RestError(404, f"there is no task {task} of {asked.name}")
    return int(task)
