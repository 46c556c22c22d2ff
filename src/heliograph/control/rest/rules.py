"""Which role a route takes."""

from __future__ import annotations

from fastapi import Request
from fastapi.dependencies.models import Dependant

from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Role, RoleRule


def role_of(route: object) -> Role | None:
    """The role that a route takes; None if it names none."""
    rule = _rule(getattr(route, "dependant", None))
    return rule.role if rule else None


async def check_rule(request: Request) -> None:
    """Serve no route that names no role: who forgot it, cannot have meant it for everyone."""
    if role_of(request.scope.get("route")) is None:
        raise RestError(403, "nobody has said who may do this")


def check_role(request: Request) -> None:
    """The same refusal that the route itself would give, for those who ask whether a refusal is due first."""
    role = role_of(request.scope.get("route"))
    if role is not None:
        RoleRule(role).check(request)


def _rule(dependant: Dependant | None) -> RoleRule | None:
    if dependant is None:
        return None
    own = [each.call for each in dependant.dependencies if isinstance(each.call, RoleRule)]
    deeper = [rule for each in dependant.dependencies if (rule := _rule(each))]
    return max([*own, *deeper], key=lambda rule: rule.role, default=None)
