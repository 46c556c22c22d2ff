"""References in the place of secrets: nothing secret is written into a file or onto a screen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from heliograph.config.providers import references
from heliograph.config.variable_name import spelt

_KNOWN_PROVIDERS: Final = ("env", "file", "directory")
_SECRET_OF_JAAS: Final = re.compile(r"""(?P<name>\w*(?:password|secret)\w*)\s*=\s*(?P<value>"[^"]*"|[^\s;"]+)""", re.I)


@dataclass(frozen=True)
class Safe:
    """A value that may be shown, and what must be done so that it means the same."""

    text: str
    reasons: tuple[str, ...] = ()


def without_secrets(key: str, value: str, is_secret: bool) -> Safe:
    """The value with secrets and foreign references replaced by variables."""
    made = _Replacement(key)
    text = made.known_providers(value)
    if is_secret and not _is_reference(text):
        is_login = key.endswith("sasl.jaas.config") and _SECRET_OF_JAAS.search(text)
        text = made.login(text) if is_login else made.variable(key)
    return Safe(text, tuple(made.reasons))


class _Replacement:
    """Replaces parts of the value of one key, and collects what must be done for that."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.reasons: list[str] = []

    def variable(self, name: str) -> str:
        """A reference to a variable that somebody has to set."""
        variable = spelt(name)
        self.reasons.append(f"the secret is not copied: set the variable {variable} to it")
        return f"${{env:{variable}}}"

    def known_providers(self, value: str) -> str:
        """References that only a provider of Kafka Connect's worker could follow become variables."""
        for reference in references(value):
            if reference.provider not in _KNOWN_PROVIDERS:
                variable = spelt(f"{reference.path.rpartition('/')[2]}.{reference.key}".strip("."))
                value = value.replace(reference.text, f"${{env:{variable}}}")
                self.reasons.append(
                    f"{reference.text} cannot be followed here: set the variable {variable} to its value"
                )
        return value

    def login(self, text: str) -> str:
        """Of a JAAS entry only the passwords are secret."""
        return _SECRET_OF_JAAS.sub(self._in_login, text)

    def _in_login(self, match: re.Match[str]) -> str:
        name, value = match["name"], match["value"].strip('"')
        if _is_reference(value):
            return match[0]
        prefix = self._key.removesuffix("sasl.jaas.config")
        return f'{name}="{self.variable(prefix + name)}"'


def directory_reference(folder: str, secret: str, file: str) -> str:
    """Where a secret of Kubernetes is that has been mounted below a folder."""
    return f"${{directory:{folder}/{secret}:{file}}}"


def _is_reference(text: str) -> bool:
    for reference in references(text):
        text = text.replace(reference.text, "")
    return not text.strip()
