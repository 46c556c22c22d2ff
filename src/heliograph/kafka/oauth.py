"""Tokens for SASL OAUTHBEARER: the client-credentials grant, as Kafka's own clients ask for it."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from kafka.net.sasl.oauth import AbstractTokenProvider

from heliograph.config.secret import Secret
from heliograph.errors import AuthenticationFailed

_LIFETIME_IF_UNKNOWN = 300.0


@dataclass(frozen=True)
class OAuthGrant:
    """Where tokens come from and how we ask for them."""

    endpoint: str
    client_id: str
    client_secret: Secret
    scope: str = ""
    extensions: tuple[tuple[str, str], ...] = ()
    url_encodes_header: bool = False
    timeout: float = 10.0
    renew_after: float = 0.8


class TokenSource(AbstractTokenProvider):  # type: ignore[misc]
    """Fetches a token when none is left that lives long enough; all connections of a process share it."""

    def __init__(self, grant: OAuthGrant, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._grant = grant
        self._clock = clock
        self._lock = threading.Lock()
        self._token = Secret("")
        self._renew_at = 0.0

    def token(self) -> str:
        """A token that is still good."""
        with self._lock:
            now = self._clock()
            if now >= self._renew_at:
                answer = _fetch(self._grant)
                self._token = Secret(answer["access_token"])
                self._renew_at = now + _lifetime(answer, now) * self._grant.renew_after
            return self._token.reveal()

    def extensions(self) -> dict[str, str]:
        """What the login tells the broker besides the token."""
        return dict(self._grant.extensions)


@cache
def token_source(grant: OAuthGrant) -> TokenSource:
    """The one source of tokens that this process has for a grant."""
    return TokenSource(grant)


def _fetch(grant: OAuthGrant) -> dict[str, Any]:
    where = f"token endpoint {grant.endpoint}"
    if urlsplit(grant.endpoint).scheme not in ("http", "https"):
        raise AuthenticationFailed(f"{where}: is neither http nor https")
    try:
        with urlopen(_request(grant), timeout=grant.timeout) as answer:  # noqa: S310 - the scheme was checked
            fields = json.load(answer)
    except HTTPError as error:
        with error:
            raise AuthenticationFailed(f"{where}: answered {error.code} {_reason(error)}") from None
    except OSError as error:
        raise AuthenticationFailed(f"{where}: cannot be reached: {getattr(error, 'reason', error)}") from None
    except ValueError:
        raise AuthenticationFailed(f"{where}: did not answer with JSON") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("access_token"), str):
        raise AuthenticationFailed(f"{where}: its answer holds no access_token")
    return fields


def _request(grant: OAuthGrant) -> Request:
    form = {"grant_type": "client_credentials"} | ({"scope": grant.scope} if grant.scope else {})
    who, secret = grant.client_id, grant.client_secret.reveal()
    if grant.url_encodes_header:
        who, secret = quote(who, safe=""), quote(secret, safe="")
    headers = {
        "Authorization": "Basic " + base64.b64encode(f"{who}:{secret}".encode()).decode(),
        "Content-Type": "application/x-www-form-urlencoded",
        "Accept": "application/json",
    }
    return Request(grant.endpoint, urlencode(form).encode(), headers)  # noqa: S310 - the scheme was checked


def _reason(error: HTTPError) -> str:
    """The error code of RFC 6749 if the endpoint gives one; nothing else of its answer is shown."""
    try:
        code = json.load(error)["error"]
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)
    return code if isinstance(code, str) and code.isidentifier() else str(error.reason)


def _lifetime(answer: dict[str, Any], now: float) -> float:
    stated = answer.get("expires_in")
    if isinstance(stated, int | float):
        return float(stated)
    expiry = _claims(answer["access_token"]).get("exp")
    return float(expiry) - now if isinstance(expiry, int | float) else _LIFETIME_IF_UNKNOWN


def _claims(token: str) -> dict[str, Any]:
    """What a token that is a JWT says about itself; nothing for one that is not."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, IndexError):
        return {}
    return claims if isinstance(claims, dict) else {}
