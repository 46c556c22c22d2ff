"""What is wrong with settings of the REST server that each fit alone, but not together."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from heliograph.config.problem import Problem, Severity
from heliograph.config.rest_access import RestAccess
from heliograph.config.rest_reading import RestReader
from heliograph.errors import ConfigError

if TYPE_CHECKING:
    from heliograph.config.listener import Listener
    from heliograph.config.mirror_config import MirrorConfig
    from heliograph.config.setting import Setting

_STAY_HOME = "write http://127.0.0.1:PORT"
_TOKEN = "make a caller with: heliograph token NAME --role admin"  # noqa: S105


def is_rest_wanted(settings: Mapping[str, Setting]) -> bool:
    """Whether a file asks for a REST server."""
    listeners = settings["listeners"]
    return listeners.origin.is_given and bool(listeners.value)


def check_rest(settings: Mapping[str, Setting], file: str) -> Iterator[Problem]:
    """Every problem with the REST server of a file; of one that is not asked for, only what is mistyped."""
    if is_rest_wanted(settings):
        yield from _read(settings, file)[1]
        return
    reader = RestReader(settings, file)
    reader.read_callers()
    reader.read_headers()
    yield from reader.problems


def rest_access(config: MirrorConfig, addresses: Sequence[str] | None = None) -> RestAccess:
    """Who may call at these addresses, or at those in the file. Raises ConfigError with all problems."""
    access, problems = _read(config.settings, config.file, addresses)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise ConfigError(errors)
    return access


def _read(
    settings: Mapping[str, Setting], file: str, addresses: Sequence[str] | None = None
) -> tuple[RestAccess, list[Problem]]:
    reader = RestReader(settings, file)
    access = reader.read(addresses)
    check = _Check(access, reader, "listeners" if addresses is None else "--rest")
    check.reach("listeners", access.listeners)
    check.reach("admin.listeners", access.admin_listeners or ())
    check.anonymous()
    check.certificates()
    check.origins()
    return access, reader.problems


class _Check:
    """Checks one access; problems go where those of the reader are."""

    def __init__(self, access: RestAccess, reader: RestReader, listeners_key: str) -> None:
        self._access = access
        self._report = reader.report
        self._keys = {"listeners": listeners_key}

    def reach(self, name: str, listeners: Sequence[Listener]) -> None:
        """Whoever can be reached from elsewhere hides what is said, and asks who says it."""
        key = self._keys.get(name, name)
        for listener in (each for each in listeners if not each.is_loopback):
            if not listener.has_tls:
                message = f"{listener} can be reached from other machines, but is not encrypted"
                self._report(
                    Severity.ERROR, key, message, f"{_STAY_HOME}, or https:// with {name}.https.ssl.keystore.*"
                )
            elif not self._access.knows_callers:
                message = f"{listener} can be reached from other machines, but nobody is asked who they are"
                self._report(Severity.ERROR, key, message, f"{_TOKEN}, or {_STAY_HOME}")

    def anonymous(self) -> None:
        """Whether strangers may do too much."""
        role = self._access.anonymous_role
        if role == "none" or all(each.is_loopback for each in self._access.all_listeners):
            return
        severity = Severity.WARNING if role == "viewer" else Severity.ERROR
        message = f"whoever can reach the server is {role}, without saying who they are"
        self._report(severity, "rest.anonymous.role", message, "write none, and give callers tokens")

    def certificates(self) -> None:
        """Callers with certificates are never asked for them unless TLS says so."""
        asks = any(tls and tls.verify_mode is not ssl.CERT_NONE for tls in (self._access.tls, self._access.admin_tls))
        for holder in self._access.certificates:
            if not asks:
                message = "no client is asked for a certificate"
                hint = "write listeners.https.ssl.client.auth = required, and listeners = https://…"
                self._report(Severity.ERROR, f"rest.certificate.{holder.name}", message, hint)

    def origins(self) -> None:
        """Pages from anywhere, and nobody asked who they are: then any page that is looked at can change anything."""
        if "*" in self._access.origins and self._access.anonymous_role in ("operator", "admin"):
            message = f"lets every web page do what callers without a name may, who are {self._access.anonymous_role}"
            hint = "name the origins, as https://host, or write rest.anonymous.role = viewer"
            self._report(Severity.ERROR, "access.control.allow.origin", message, hint)
