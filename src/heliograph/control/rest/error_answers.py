"""Errors as answers: Kafka Connect's body, whatever went wrong, and nothing of our insides in it."""

from __future__ import annotations

import logging
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from heliograph.control.rest.errors import RestError
from heliograph.errors import ClusterError, ConfigError, HeliographError

log = logging.getLogger(__name__)


def rest_error(error: Exception) -> RestError:
    """The error in the words of REST; what nobody expected is logged, and told in general words only."""
    if isinstance(error, RestError):
        return error
    if isinstance(error, HTTPException):
        return RestError(error.status_code, _told(error), error.headers)
    if isinstance(error, RequestValidationError):
        return RestError(400, "; ".join(map(_fault, error.errors())))
    if isinstance(error, HeliographError):
        return RestError(_code(error), str(error))
    log.error("a request failed in a way that nobody expected: %r", error, exc_info=error)
    return RestError(500, "something unexpected went wrong; the log tells what")


def answer(error: RestError) -> JSONResponse:
    """Kafka Connect's body for an error."""
    return JSONResponse({"error_code": error.code, "message": str(error)}, error.code, error.headers)


def _code(error: HeliographError) -> int:
    if isinstance(error, ConfigError):
        return 400
    return 503 if isinstance(error, ClusterError) and error.retriable else 500


def _told(error: HTTPException) -> str:
    phrase = HTTPStatus(error.status_code).phrase
    return f"HTTP {error.status_code} {phrase}" if error.detail in ("", phrase) else str(error.detail)


def _fault(fault: dict[str, object]) -> str:
    """One fault by its place and kind; never by its value, which may be a secret."""
    location = fault.get("loc", ())
    assert isinstance(location, (list, tuple))
    return f"{'.'.join(map(str, location))}: {fault.get('msg', 'is wrong')}"
