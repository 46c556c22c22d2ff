"""How a client proves who it is and hides what it says: protocol, login and TLS material of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from heliograph.config import jaas, stores
from heliograph.config.problem import Problem, Severity
from heliograph.config.secret import Secret
from heliograph.config.setting import value_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.config.setting import Setting

_MODULES: Final = {
    "PLAIN": jaas.LoginModule.PLAIN,
    "SCRAM-SHA-256": jaas.LoginModule.SCRAM,
    "SCRAM-SHA-512": jaas.LoginModule.SCRAM,
    "OAUTHBEARER": jaas.LoginModule.OAUTHBEARER,
}
_EXPIRY_WARNING: Final = timedelta(days=30)


@dataclass(frozen=True)
class Security:
    """What a connection needs beyond the address; `login` only with SASL, `tls` only with SSL."""

    protocol: str
    mechanism: str | None = None
    login: jaas.JaasLogin | None = None
    tls: stores.TlsSettings | None = None


@dataclass(frozen=True)
class SecurityCheck:
    """The security of a client as far as it could be read, and what is wrong with it."""

    security: Security
    problems: tuple[Problem, ...]


class StoreOpener:
    """Opens TLS stores to see whether they can be used: each once, however many clients share it."""

    def __init__(self) -> None:
        self._opened: dict[stores.TlsSettings, tuple[stores.CertificateInfo, ...]] = {}

    def certificates(self, tls: stores.TlsSettings) -> tuple[stores.CertificateInfo, ...]:
        """All certificates in the stores, or StoreError."""
        if tls not in self._opened:
            stores.ssl_context(tls)
            self._opened[tls] = tuple(stores.certificates(tls))
        return self._opened[tls]


def read_security(alias: str, settings: Mapping[str, Setting], opener: StoreOpener, file: str) -> SecurityCheck:
    """Read the security settings of a client and try out logins and stores."""
    reader = _Reader(alias, settings, opener, file)
    return SecurityCheck(reader.read(), tuple(reader.problems))


class _Reader:
    """Collects problems while it reads, so that one does not hide the next."""

    def __init__(self, alias: str, settings: Mapping[str, Setting], opener: StoreOpener, file: str) -> None:
        self._file = file
        self._alias = alias
        self._settings = settings
        self._opener = opener
        self.problems: list[Problem] = []

    def read(self) -> Security:
        protocol = str(self._settings["security.protocol"].value)
        with_sasl, with_tls = protocol.startswith("SASL"), protocol.endswith("SSL")
        if not with_sasl and self._is_set("sasl.jaas.config"):
            self._report(
                Severity.WARNING,
                "sasl.jaas.config",
                f"has no effect, because security.protocol is {protocol}",
                f"write {self._alias}.security.protocol = SASL_SSL",
            )
        with_sasl = with_sasl and self._all_valid("sasl.")
        with_tls = with_tls and self._all_valid("ssl.")
        return Security(
            protocol,
            str(self._settings["sasl.mechanism"].value) if with_sasl else None,
            self._login() if with_sasl else None,
            self._tls() if with_tls else None,
        )

    def _all_valid(self, prefix: str) -> bool:
        return all(setting.valid for name, setting in self._settings.items() if name.startswith(prefix))

    def _is_set(self, name: str) -> bool:
        return self._settings[name].origin.is_given

    def _report(self, severity: Severity, name: str, message: str, hint: str = "") -> None:
        origin = self._settings[name].origin
        key = origin.key or f"{self._alias}.{name}"
        message = message.removeprefix(f"{name}: ")
        self.problems.append(Problem(severity, message, hint, self._file, origin.line, key))

    def _login(self) -> jaas.JaasLogin | None:
        mechanism = str(self._settings["sasl.mechanism"].value)
        if mechanism not in _MODULES:
            whose = "" if self._is_set("sasl.mechanism") else ", Kafka's default,"
            self._report(
                Severity.ERROR,
                "sasl.mechanism",
                f"GSSAPI (Kerberos){whose} is not supported",
                f"write {' or '.join(_MODULES)}",
            )
            return None
        text = self._settings["sasl.jaas.config"].value
        if not isinstance(text, Secret):
            self._report(
                Severity.ERROR,
                "sasl.jaas.config",
                f"is missing, but {mechanism} needs a login",
                f'write {_MODULES[mechanism].value} required username="…" password="…";',
            )
            return None
        return self._parsed_login(text, mechanism)

    def _parsed_login(self, text: Secret, mechanism: str) -> jaas.JaasLogin | None:
        try:
            login = jaas.parse(text.reveal())
        except jaas.JaasError as error:
            self._report(Severity.ERROR, "sasl.jaas.config", str(error))
            return None
        if login.module is not _MODULES[mechanism]:
            self._report(
                Severity.ERROR,
                "sasl.jaas.config",
                f"its login module does not fit the mechanism {mechanism}",
                f"write {_MODULES[mechanism].value}",
            )
        return login

    def _tls(self) -> stores.TlsSettings | None:
        texts = {
            name: setting.value if isinstance(setting.value, Secret) else value_text(setting.value)
            for name, setting in self._settings.items()
            if name.startswith("ssl.") and self._is_set(name)
        }
        try:
            tls = stores.TlsSettings.from_client_settings(texts)
            certificates = self._opener.certificates(tls)
        except stores.StoreError as error:
            self._report(Severity.ERROR, self._culprit(str(error)), str(error))
            return None
        if not tls.checks_host:
            self._report(
                Severity.WARNING,
                "ssl.endpoint.identification.algorithm",
                "brokers are not checked to be who they say they are",
                "remove the line, or write https",
            )
        self._report_expiring(certificates)
        return tls

    def _culprit(self, text: str) -> str:
        """The key of the store that a text speaks of, by its name or by the file it names."""
        stated = [name for name in self._settings if name.startswith("ssl.") and self._is_set(name)]
        named = [name for name in stated if name in text]
        located = [name for name in stated if name.endswith(".location") and str(self._settings[name].value) in text]
        return next(iter([*named, *located, *stated]), "security.protocol")

    def _report_expiring(self, certificates: tuple[stores.CertificateInfo, ...]) -> None:
        now = datetime.now(UTC)
        for certificate in certificates:
            if certificate.not_after - now < _EXPIRY_WARNING:
                verb = "expired" if certificate.not_after < now else "expires"
                message = f"the certificate {certificate.subject} {verb} on {certificate.not_after:%Y-%m-%d}"
                self._report(Severity.WARNING, self._culprit(certificate.source), message, "renew it")
