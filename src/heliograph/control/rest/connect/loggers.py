"""How much the process tells in its log: Python's loggers under Kafka Connect's names for levels."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from heliograph.control.rest.connect.answers import LoggerAnswer
from heliograph.control.rest.connect.bodies import JsonObject, config_map
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Admin, Role, needs
from heliograph.control.rest.site import site_of

_ROOT: Final = "root"
_CLUSTER: Final = "cluster"
_LEVELS: Final[Mapping[str, int]] = {
    "ALL": 1,
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 1,
}

router = APIRouter(prefix="/admin/loggers")
_viewers = [needs(Role.VIEWER)]
_modified_ms: dict[str, int] = {}


@router.get("", dependencies=_viewers)
@router.get("/", dependencies=_viewers, include_in_schema=False)
async def list_loggers() -> dict[str, LoggerAnswer]:
    """All loggers that there are."""
    return {name: _answer(name, logger) for name, logger in sorted(_loggers())}


@router.get("/{logger}", dependencies=_viewers)
async def show(logger: str) -> LoggerAnswer:
    """One logger."""
    found = dict(_loggers()).get(logger)
    if found is None:
        raise RestError(404, f"Logger {logger} not found.")
    return _answer(logger, found)


@router.put("/{logger}")
def change(request: Request, caller: Admin, logger: str, body: JsonObject, scope: str = "worker") -> Response:
    """Let a logger and those below it tell more or less, until the process ends; there is one worker."""
    wanted = config_map(body).get("level")
    if wanted is None:
        raise RestError(400, "Desired 'level' parameter was not specified in request.")
    if wanted.upper() not in _LEVELS:
        raise RestError(404, f"invalid log level '{wanted}'.")
    before = level_name(_named(logger).getEffectiveLevel())
    changed = _set_levels(logger, _LEVELS[wanted.upper()])
    site_of(request).audit.write(caller, f"logger {logger}", {"level": before}, {"level": wanted.upper()})
    return Response(status_code=204) if scope.lower() == _CLUSTER else JSONResponse(changed)


def level_name(level: int) -> str:
    """The name of the highest level that is not above this one."""
    return next((name for name, bound in reversed(list(_LEVELS.items())) if bound <= level), "ALL")


def _set_levels(namespace: str, level: int) -> list[str]:
    """Set a logger and all below it; returns those that had another level."""
    _named(namespace)
    below = [item for item in _loggers() if namespace in (_ROOT, item[0]) or item[0].startswith(f"{namespace}.")]
    changed = sorted(name for name, logger in below if level_name(logger.getEffectiveLevel()) != level_name(level))
    for _, logger in below:
        logger.setLevel(level)
    _modified_ms.update(dict.fromkeys(changed, int(time.time() * 1000)))
    return changed


def _loggers() -> Iterator[tuple[str, logging.Logger]]:
    yield _ROOT, logging.getLogger()
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger):
            yield name, logger


def _named(name: str) -> logging.Logger:
    return logging.getLogger() if name == _ROOT else logging.getLogger(name)


def _answer(name: str, logger: logging.Logger) -> LoggerAnswer:
    return LoggerAnswer(level=level_name(logger.getEffectiveLevel()), last_modified=_modified_ms.get(name))
