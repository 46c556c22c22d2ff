"""Logins as `sasl.jaas.config` gives them: read, never run. Messages never hold the value of an option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from heliograph.config.secret import Secret

_FLAGS = ("required", "requisite", "sufficient", "optional")
_KAFKA_PACKAGE = "org.apache.kafka.common.security."
_SHADED = "kafkashaded."
_KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
_OPEN_OPTIONS = re.compile(r"username|clientId|scope|tokenauth|extension_\w+|unsecuredLogin\w+")
_SECRET_OPTIONS = ("password", "clientSecret")
_EXTENSION = "extension_"
_WRITE_QUOTED = 'write name="value"'
_LOGIN_MODULE = re.compile(r"[\w$.]{0,200}LoginModule")
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<quoted>"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*')
      | (?P<word>[A-Za-z_$\u00a0-\u00ff][\w$.\-\u00a0-\u00ff]*)
      | (?P<sign>[=;])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_EXAMPLE = f'{_KAFKA_PACKAGE}plain.PlainLoginModule required username="…" password="…";'


class JaasError(ValueError):
    """A login cannot be used; the text says what to write, and never holds the value of an option."""


class LoginModule(Enum):
    """The login modules that have a counterpart here."""

    PLAIN = _KAFKA_PACKAGE + "plain.PlainLoginModule"
    SCRAM = _KAFKA_PACKAGE + "scram.ScramLoginModule"
    OAUTHBEARER = _KAFKA_PACKAGE + "oauthbearer.OAuthBearerLoginModule"


@dataclass(frozen=True)
class PasswordCredentials:
    """What PLAIN and SCRAM need."""

    username: str
    password: Secret
    is_delegation_token: bool = False


@dataclass(frozen=True)
class OAuthCredentials:
    """What OAUTHBEARER may be given in a login; each may also come from settings of its own."""

    client_id: str | None
    client_secret: Secret | None
    scope: str | None
    extensions: dict[str, str]


@dataclass(frozen=True)
class JaasLogin:
    """A login module, its control flag and its options, which are secret unless known to be harmless."""

    module: LoginModule
    flag: str
    options: dict[str, Secret | str]

    @property
    def credentials(self) -> PasswordCredentials | OAuthCredentials:
        """The options as the login module reads them."""
        if self.module is LoginModule.OAUTHBEARER:
            return self._oauth_credentials()
        return PasswordCredentials(
            username=_open(self.options["username"]),
            password=_hidden(self.options["password"]),
            is_delegation_token=_open(self.options.get("tokenauth", "")).lower() == "true",
        )

    def _oauth_credentials(self) -> OAuthCredentials:
        options = self.options
        return OAuthCredentials(
            client_id=_open(options["clientId"]) if "clientId" in options else None,
            client_secret=_hidden(options["clientSecret"]) if "clientSecret" in options else None,
            scope=_open(options["scope"]) if "scope" in options else None,
            extensions={
                name.removeprefix(_EXTENSION): _open(value)
                for name, value in options.items()
                if name.startswith(_EXTENSION)
            },
        )


def parse(text: str) -> JaasLogin:
    """Read one login: `module flag option="value" …;`."""
    tokens = _Tokens(text)
    module = _module(tokens.next_word(f"it names no login module; write {_EXAMPLE}"))
    flag = tokens.next_word(f"the login module must be followed by a flag: {', '.join(_FLAGS)}").lower()
    if flag not in _FLAGS:
        raise JaasError(f"the login module must be followed by a flag: {', '.join(_FLAGS)}")
    options = dict(_options(tokens))
    if not tokens.at_end:
        raise JaasError("something follows the ';' that ends the login; only one login module is allowed")
    _check_options(module, options)
    return JaasLogin(module, flag, options)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str


class _Tokens:
    """The tokens of a login, one after the other."""

    def __init__(self, text: str) -> None:
        matches = (match for match in _TOKEN.finditer(text) if match.lastgroup != "space")
        self._tokens = [_Token(match.lastgroup or "", match[0]) for match in matches]
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._tokens)

    def next(self) -> _Token:
        if self.at_end:
            return _Token("end", "")
        self._at += 1
        return self._tokens[self._at - 1]

    def next_word(self, otherwise: str) -> str:
        token = self.next()
        if token.kind != "word":
            raise JaasError(otherwise)
        return token.text


def _module(name: str) -> LoginModule:
    supported = ", ".join(module.value for module in LoginModule)
    plain_name = name.removeprefix(_SHADED)
    if plain_name == _KERBEROS:
        raise JaasError(f"Kerberos (Krb5LoginModule) is not supported; supported: {supported}")
    try:
        return LoginModule(plain_name)
    except ValueError:
        # Anything else might be a password that was written in the wrong place.
        shown = name if _LOGIN_MODULE.fullmatch(name) else "what it begins with"
        raise JaasError(f"{shown} is not a supported login module; supported: {supported}") from None


def _options(tokens: _Tokens) -> Iterator[tuple[str, Secret | str]]:
    last = "the flag"
    while (token := tokens.next()) != _Token("sign", ";"):
        if token.kind == "end":
            raise JaasError(f"it must end with ';', which is missing after {last}")
        if token.kind != "word":
            raise JaasError(f"after {last} comes neither an option nor ';'; {_WRITE_QUOTED}")
        last = _shown_option(token.text)
        value = _value(last, tokens)
        yield token.text, value if _OPEN_OPTIONS.fullmatch(token.text) else Secret(value)


def _value(option: str, tokens: _Tokens) -> str:
    if tokens.next() != _Token("sign", "="):
        raise JaasError(f"{option} has no value; {_WRITE_QUOTED}")
    token = tokens.next()
    if token.kind == "word":
        return token.text
    if token.kind == "quoted":
        return _ESCAPE.sub(_unescaped, token.text[1:-1])
    if token.text in ("'", '"'):
        raise JaasError(f"the quote that opens the value of {option} is never closed on its line")
    raise JaasError(f"the value of {option} must be in double quotes; {_WRITE_QUOTED}")


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)


def _shown_option(name: str) -> str:
    # An unknown name may be a piece of a password that lacks its quotes.
    return f"the option {name}" if _OPEN_OPTIONS.fullmatch(name) or name in _SECRET_OPTIONS else "an option"


def _check_options(module: LoginModule, options: dict[str, Secret | str]) -> None:
    if module is LoginModule.OAUTHBEARER:
        return
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise JaasError(f"the login lacks {' and '.join(missing)}; {_WRITE_QUOTED}")


def _open(value: Secret | str) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _hidden(value: Secret | str) -> Secret:
    return value if isinstance(value, Secret) else Secret(value)
