"""Takes secrets out of whatever leaves the machine: those that are known, and what looks like one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote, quote_plus

from heliograph.config.secret import HIDDEN, Secret

if TYPE_CHECKING:
    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.config.setting import Setting

Tree: TypeAlias = "str | int | float | bool | list[Tree] | dict[str, Tree] | None"

SECRET_NAME: Final = re.compile(r"passw|secret|token|credential|jaas|cookie|(?:^|[._-])auth|key", re.IGNORECASE)
_SHORTEST: Final = 4  # shorter ones would hit by chance
_SHORTEST_LINE: Final = 16  # of a secret of many lines, such as a key
_QUOTED: Final = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_SHAPES: Final = (
    re.compile(r"(?P<kept>://[^\s/:@\"']*:)(?P<secret>[^\s/@\"']+)(?=@)"),
    re.compile(r"(?i)(?P<kept>\b(?:bearer|basic)\s+)(?P<secret>[\w.~+/=-]{6,})"),
    re.compile(r"(?P<kept>)(?P<secret>\bhlg_[\w-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]*)"),
    re.compile(
        r"(?i)(?P<kept>\b[\w.-]*(?:passw|secret|token|credential|api[._-]?key)[\w.-]*\\?[\"']?\s*[=:]\s*\\?)"
        rf"(?P<secret>{_QUOTED}|[^\s\"',;&}}\]]+)"
    ),
    re.compile(r"(?P<kept>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?P<secret>.+?)(?=-----END|\Z)", re.DOTALL),
)


class Redactor:
    """Hides the secrets that it knows, in every spelling that they may have in a text, and what looks like others."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        spellings = {spelling for secret in secrets for spelling in _spellings(secret.reveal())}
        self._known = sorted(spellings, key=len, reverse=True)

    def text(self, text: str) -> str:
        """A text that may be shown."""
        for spelling in self._known:
            text = text.replace(spelling, HIDDEN)
        for shape in _SHAPES:
            text = shape.sub(rf"\g<kept>{HIDDEN}", text)
        return text

    def tree(self, value: Tree) -> Tree:
        """The same for all texts in plain values."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.tree(item) for name, item in value.items()}
        return value


def secrets_of(config: MirrorConfig) -> Iterator[Secret]:
    """Every secret of a file: hidden values, what is in logins, and all that providers gave."""
    yield from _hidden(config.settings)
    for detection in config.conflicts:
        yield from _hidden(detection.settings)
    for flow in (*config.flows, *config.others):
        yield from _hidden(flow.settings)
        yield from _of_cluster(flow.source)
        yield from _of_cluster(flow.target)
    for cluster in config.clusters.values():
        yield from _of_cluster(cluster)
    for hook in config.hooks:
        yield from hook.secrets


def environment_secrets(environment: Mapping[str, str]) -> Iterator[Secret]:
    """The values of variables whose name says that they are secret."""
    return (Secret(value) for name, value in environment.items() if SECRET_NAME.search(name))


def _of_cluster(cluster: ClusterConfig) -> Iterator[Secret]:
    for client in cluster.clients.values():
        yield from _hidden(client.settings)
        if client.security.login is not None:
            options = client.security.login.options.values()
            yield from (option for option in options if isinstance(option, Secret))


def _hidden(settings: Mapping[str, Setting]) -> Iterator[Secret]:
    from heliograph.config.setting import revealed_text

    for setting in settings.values():
        if isinstance(setting.value, Secret) or "${" in setting.text:
            yield Secret(revealed_text(setting.value))


def _spellings(value: str) -> Iterator[str]:
    for text in (value.strip(), *_lines(value), *_inner(value)):
        if len(text) >= _SHORTEST:
            yield from (text, quote(text, safe=""), quote_plus(text))
            yield from (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))


def _lines(value: str) -> Iterator[str]:
    """Those of a long secret, such as a key, which may come out one by one."""
    return (text for line in value.splitlines() if len(text := line.strip()) >= _SHORTEST_LINE)


def _inner(value: str) -> Iterator[str]:
    """Secrets inside a secret, such as the password in an address."""
    return (found["secret"].strip("\"'") for shape in _SHAPES for found in shape.finditer(value))
