"""Variables of Kafka Connect's images (`CONNECT_…`): what is understood of them, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.address import ROLES, client_options
from heliograph.config.option import Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.properties import Entry
from heliograph.config.variable_name import spelt, variable_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX: Final = "CONNECT_"
_PORT: Final = f"{PREFIX}REST_PORT"
_PROVIDERS: Final = f"{PREFIX}CONFIG_PROVIDERS"
_LOGGING: Final = f"{PREFIX}LOG4J_"
_HINT: Final = (
    f"tell clusters by {variable_for('ALIAS.bootstrap.servers')} and so on; a worker's group, storage topics and "
    "converters are not needed; see docs/environment.md"
)


def read(environment: Mapping[str, str]) -> tuple[dict[str, Entry], list[Problem]]:
    """What these variables say that means the same here, and one warning about all others of a worker."""
    said = {name: text for name, text in environment.items() if name.startswith(PREFIX) and text}
    entries = {entry.key: entry for name, text in said.items() for entry in _entries(name, text)}
    used = {entry.variable for entry in entries.values()}
    others = sorted(name for name in said if name not in used and _is_of_a_worker(name))
    if not others:
        return entries, []
    message = "belongs to a worker of Kafka Connect, not used here"
    if len(others) > 1:
        message = f"and {', '.join(others[1:])} belong to a worker of Kafka Connect, not used here"
    return entries, [Problem(Severity.WARNING, message, _HINT, others[0])]


def _entries(name: str, text: str) -> Iterator[Entry]:
    if name == _PORT:
        yield Entry("listeners", f"http://127.0.0.1:{text.strip()}", 0, variable=name)
    elif name == _PROVIDERS or name.startswith(f"{_PROVIDERS}_"):
        yield Entry(name.removeprefix(PREFIX).lower().replace("_", "."), text, 0, variable=name)


def _is_of_a_worker(name: str) -> bool:
    key = name.removeprefix(PREFIX)
    worker = map(spelt, options.in_scopes((Scope.WORKER, Scope.REST, Scope.CLIENT)))
    clients = (spelt(f"{role}.{name}") for role in ROLES for name in client_options(role))
    return name.startswith(_LOGGING) or key in {*worker, *clients}
