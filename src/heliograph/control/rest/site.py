"""What all routes share: the running mirror behind them, and the book in which changes are written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fastapi import Request

from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Caller
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror


class AuditBook(Protocol):
    """Where every change is written down."""

    def write(self, caller: Caller, what: str, before: Mapping[str, object], after: Mapping[str, object]) -> None:
        """Note who changed what, from what to what; secrets must not be among it."""


@dataclass(frozen=True)
class Site:
    """Is found in `request.app.state.site`."""

    mirror: RunningMirror
    audit: AuditBook

    def flow(self, name: str) -> RunningFlow:
        """The flow of that name, or an error for whoever asked."""
        try:
            return self.mirror.flow(name)
        except KeyError:
            known = ", ".join(self.mirror.flows)
            raise RestError(404, f"there is no flow {name}; flows are {known}") from None


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site: Site = request.app.state.site
    return site
