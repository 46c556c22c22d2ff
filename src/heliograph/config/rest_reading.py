"""The steps from the settings of a file to who may call the REST server, collecting every problem on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from cryptography import x509

from heliograph.config.credential_hash import PasswordHash, TokenHash
from heliograph.config.header_rule import HeaderRule, parse_header_rules
from heliograph.config.listener import Listener
from heliograph.config.problem import Problem, Severity
from heliograph.config.rest_access import (
    ROLES,
    SIMPLE_METHODS,
    CertificateHolder,
    RestAccess,
    TokenHolder,
    User,
    check_name,
)
from heliograph.config.secret import Secret
from heliograph.config.server_tls import ServerTls, server_context
from heliograph.config.setting import revealed_text
from heliograph.config.stores import CertificateInfo, StoreError, certificates
from heliograph.config.value import split_list

if TYPE_CHECKING:
    from heliograph.config.setting import Setting

_TLS: Final = "listeners.https."
_ADMIN_TLS: Final = "admin.listeners.https."
_TOKEN: Final = "rest.token."  # noqa: S105
_USER: Final = "rest.user."
_CERTIFICATE: Final = "rest.certificate."
_ANY_SUBJECT: Final = "*"
_EXPIRY_WARNING: Final = timedelta(days=30)
_HINTS: Final = {
    _TOKEN: "make the line with: heliograph token {name} --role viewer",
    _USER: "make the line with: heliograph token {name} --role viewer --password",
    _CERTIFICATE: "write " + _CERTIFICATE + "{name} = viewer:CN=…",
}
_Holder = TypeVar("_Holder")


class RestReader:
    """Reads the settings of the REST server; after that, `problems` tells what is wrong with them."""

    def __init__(self, settings: Mapping[str, Setting], file: str) -> None:
        self._settings = settings
        self._file = file
        self.problems: list[Problem] = []

    def read(self, addresses: Sequence[str] | None = None) -> RestAccess:
        """Who may call at these addresses, or at those in the file."""
        listeners = self._listeners("listeners", addresses) or ()
        admin_listeners = self._listeners("admin.listeners")
        tokens, users, holders = self.read_callers()
        tls = self._tls(_TLS) if any(each.has_tls for each in listeners) else None
        return RestAccess(
            listeners,
            admin_listeners,
            tls,
            self._admin_tls(tls) if any(each.has_tls for each in admin_listeners or ()) else None,
            tokens,
            users,
            holders,
            self._anonymous_role((*listeners, *(admin_listeners or ()))),
            frozenset(name.lower() for name in self._list("rest.advertised.host.name")),
            self._list("access.control.allow.origin"),
            tuple(method.upper() for method in self._list("access.control.allow.methods")) or SIMPLE_METHODS,
            self.read_headers(),
            revealed_text(self._settings["rest.audit.file"].value),
        )

    def read_callers(self) -> tuple[tuple[TokenHolder, ...], tuple[User, ...], tuple[CertificateHolder, ...]]:
        """All who can say who they are."""
        return (
            self._callers(_TOKEN, lambda name, role, proof: TokenHolder(name, role, TokenHash.parse(proof))),
            self._callers(_USER, lambda name, role, proof: User(name, role, PasswordHash.parse(proof))),
            self._callers(_CERTIFICATE, lambda name, role, proof: CertificateHolder(name, role, _subject(proof))),
        )

    def read_headers(self) -> tuple[HeaderRule, ...]:
        """Headers for all responses."""
        name = "response.http.headers.config"
        try:
            return parse_header_rules(revealed_text(self._settings[name].value))
        except ValueError as error:
            self.report(Severity.ERROR, name, str(error), "write set X-Name: value, or quote items with commas")
            return ()

    def report(self, severity: Severity, key: str, message: str, hint: str = "") -> None:
        """Add a problem with a key."""
        line = self._settings[key].origin.line if key in self._settings else None
        self.problems.append(Problem(severity, message, hint, self._file, line, key))

    def _keys(self, prefix: str) -> list[str]:
        return [key for key in self._settings if key.startswith(prefix)]

    def _list(self, name: str) -> tuple[str, ...]:
        return split_list(revealed_text(self._settings[name].value))

    def _listeners(self, name: str, addresses: Sequence[str] | None = None) -> tuple[Listener, ...] | None:
        if addresses is None and self._settings[name].value is None:
            return None
        found: list[Listener] = []
        for text in dict.fromkeys(self._list(name) if addresses is None else addresses):
            try:
                found.append(Listener.parse(text))
            except ValueError:
                message, hint = f"{text} is not an address to listen on", "write http://127.0.0.1:8083"
                self.report(Severity.ERROR, name if addresses is None else "--rest", message, hint)
        return tuple(found)

    def _anonymous_role(self, listeners: Sequence[Listener]) -> str:
        stated = self._settings["rest.anonymous.role"].value
        if stated is not None:
            return str(stated)
        is_closed = any(self._keys(prefix) for prefix in _HINTS)
        return "admin" if not is_closed and all(each.is_loopback for each in listeners) else "none"

    def _callers(self, prefix: str, make: Callable[[str, str, str], _Holder]) -> tuple[_Holder, ...]:
        found: list[_Holder] = []
        for key in self._keys(prefix):
            name = key.removeprefix(prefix)
            role, _, proof = revealed_text(self._settings[key].value).partition(":")
            try:
                _check_caller(name, role.strip().lower())
                found.append(make(name, role.strip().lower(), proof.strip()))
            except ValueError as error:
                self.report(Severity.ERROR, key, str(error), _HINTS[prefix].format(name=name or "NAME"))
        return tuple(found)

    def _admin_tls(self, shared: ServerTls | None) -> ServerTls | None:
        return self._tls(_ADMIN_TLS) if self._keys(_ADMIN_TLS) else shared or self._tls(_TLS)

    def _tls(self, prefix: str) -> ServerTls | None:
        texts: dict[str, str | Secret] = {}
        for key in self._keys(prefix):
            value = self._settings[key].value
            texts[key.removeprefix(prefix)] = value if isinstance(value, Secret) else revealed_text(value)
        try:
            tls = ServerTls.from_settings(texts)
            server_context(tls)
            self._report_expiring(prefix, certificates(tls.settings))
            return tls
        except StoreError as error:
            self.report(Severity.ERROR, self._culprit(prefix, str(error)), str(error))
            return None

    def _culprit(self, prefix: str, text: str) -> str:
        """The key that a text speaks of, by its name or by the file it names."""
        keys = self._keys(prefix)
        named = [key for key in keys if key.removeprefix(prefix) in text]
        located = [key for key in keys if key.endswith(".location") and str(self._settings[key].value) in text]
        return next(iter([*named, *located]), f"{prefix}ssl.keystore.location")

    def _report_expiring(self, prefix: str, found: Sequence[CertificateInfo]) -> None:
        now = datetime.now(UTC)
        for certificate in found:
            if certificate.not_after - now < _EXPIRY_WARNING:
                verb = "expired" if certificate.not_after < now else "expires"
                message = f"the certificate {certificate.subject} {verb} on {certificate.not_after:%Y-%m-%d}"
                self.report(Severity.WARNING, self._culprit(prefix, certificate.source), message, "renew it")


def _check_caller(name: str, role: str) -> None:
    check_name(name)
    if role not in ROLES:
        raise ValueError(f"does not begin with {', '.join(f'{each}:' for each in ROLES[:-1])} or {ROLES[-1]}:")


def _subject(text: str) -> x509.Name | None:
    if text == _ANY_SUBJECT:
        return None
    try:
        subject = x509.Name.from_rfc4514_string(re.sub(r"(?<!\\),\s+", ",", text))
    except ValueError:
        raise ValueError("does not end in a subject such as CN=alice,O=Example") from None
    if not list(subject):
        raise ValueError("names no subject")
    return subject
