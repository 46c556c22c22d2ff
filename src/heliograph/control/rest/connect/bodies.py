"""Bodies of requests: JSON, of the kind that a route expects. A wrong one is the client's mistake."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Depends, Request

from heliograph.control.rest.errors import RestError

_JSON = "application/json"


async def json_object(request: Request) -> dict[str, Any]:
    """The body, which must be a JSON object."""
    kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if kind != _JSON:
        raise RestError(415, f"the body must be {_JSON}, not {kind}")
    body = await request.body()
    if not body.strip():
        raise RestError(400, "the body is missing: a JSON object is expected")
    try:
        found = json.loads(body)
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair can be written in JSON, but not in UTF-8
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise RestError(400, f"the body is not JSON: {reason}") from None
    if not isinstance(found, dict):
        raise RestError(400, "the body must be a JSON object")
    return found


def config_map(fields: Any, what: str = "the body") -> dict[str, str | None]:
    """Settings by their names; numbers and truth values are taken as texts."""
    if not isinstance(fields, dict):
        raise RestError(400, f"{what} must be a JSON object of settings")
    return {name: _text(name, value) for name, value in fields.items()}


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise RestError(400, f"the value of {name} must be a string")


JsonObject = Annotated[dict[str, Any], Depends(json_object)]
