"""Who may do what: every route names the role that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any

from fastapi import Depends, Request

from heliograph.control.rest.errors import RestError


class Role(IntEnum):
    """Each role may do what the roles before it may."""

    PUBLIC = 0  # no need to say who one is
    VIEWER = 1  # look
    OPERATOR = 2  # pause, resume, restart
    ADMIN = 3  # change settings and positions


@dataclass(frozen=True)
class Caller:
    """Who sent a request."""

    name: str
    role: Role


class RoleRule:
    """Lets a request pass if its caller has the role; `role` can be read by whoever lists the rules of all routes."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Caller:
        """As FastAPI calls it: not in a thread, for every request passes here."""
        return self.check(request)

    def check(self, request: Request) -> Caller:
        """Who calls, if they may."""
        caller: Caller = request.state.caller
        if caller.role >= self.role:
            return caller
        if caller.role is Role.PUBLIC:
            raise RestError(
                401, "this needs a bearer token or a user name and password", {"WWW-Authenticate": "Bearer"}
            )
        raise RestError(403, f"{caller.name} is {caller.role.name.lower()}, this takes {self.role.name.lower()}")


def needs(role: Role) -> Any:
    """For the `dependencies` of a route."""
    return Depends(RoleRule(role))


Viewer = Annotated[Caller, Depends(RoleRule(Role.VIEWER))]
Operator = Annotated[Caller, Depends(RoleRule(Role.OPERATOR))]
Admin = Annotated[Caller, Depends(RoleRule(Role.ADMIN))]
