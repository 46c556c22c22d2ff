"""Settings of flows that were changed while they ran: how they join the file, and which may be changed at all.

Changes come over the network. So nothing may be changed that names code, reads files, holds secrets, leads to other
clusters, or decides under which names a flow keeps its books: those take the file and a restart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from heliograph.config import options
from heliograph.config.address import client_key, client_options
from heliograph.config.option import FLOW_SCOPES, Kind
from heliograph.config.properties import Entry, PropertiesFile
from heliograph.config.setting import value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.config.option import Option

Changes: TypeAlias = "Mapping[str, str | None]"
"""New values of a flow's settings by their names; None: as if the file did not mention it."""

_BY_FILE_ONLY: Final = {
    "enabled": "decides whether there is a flow at all",
    "name": "is the name of a connector",
    "connector.class": "names a class",
    "source.cluster.alias": "names a cluster",
    "target.cluster.alias": "names a cluster",
    "replication.policy.separator": "decides on the names of topics",
    "internal.topic.separator.enabled": "decides on the names of topics",
    "offset-syncs.topic.location": "decides where offset syncs are kept",
    "transform.sql": "is code",
    "progress.group.id": "is the name of a group that other flows may have",
}
_NAMES_CODE: Final = (".class", ".classes", ".reporters")
_REFERENCE: Final = "${"


def revised(file: PropertiesFile, changes: Mapping[str, Changes]) -> PropertiesFile:
    """The file as if it held the changes of each flow."""
    entries = dict(file.entries)
    for flow, items in changes.items():
        for name, value in items.items():
            key = f"{flow}.{name}"
            entries.pop(key, None)
            text = _default_text(name) if value is None and name in entries else value
            if text is not None:
                entries[key] = Entry(key, text, 0)
    return replace(file, entries=entries)


def refusal(name: str, value: str | None) -> str:
    """Why a setting cannot be changed over the network; empty if it can."""
    if name in _BY_FILE_ONLY:
        return f"{_BY_FILE_ONLY[name]}: change the file and restart"
    option = _option(name)
    if option is None:
        return "is not a setting that can be changed while a flow runs: change the file and restart"
    if option.kind is Kind.CLASS or option.name.endswith(_NAMES_CODE):
        return "names code to run: change the file and restart"
    if option.secret or option.name in options.SECURITY_NAMES or option.name == "bootstrap.servers":
        return "decides how clusters are reached: change the file and restart"
    if value is not None and _REFERENCE in value:
        return "refers to a provider, which may read files: change the file and restart"
    return ""


def _option(name: str) -> Option | None:
    option = options.find(name, FLOW_SCOPES)
    if option is not None:
        return option
    client = client_key(name)
    return client_options(client.role).get(client.name) if client and client.role else None


def _default_text(name: str) -> str | None:
    option = _option(name)
    return None if option is None or option.default is None else value_text(option.default)
