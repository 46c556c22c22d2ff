"""Who sends a request: by bearer token, name and password, or client certificate."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

from cryptography import x509

from heliograph.config.credential_hash import PasswordHash, TokenHash
from heliograph.config.rest_access import ANONYMOUS, RestAccess
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.limits import Attempts
from heliograph.control.rest.roles import Caller, Role

_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_KEPT_LOGINS: Final = 1000
_PASSWORDS_AT_ONCE: Final = 2  # each takes memory and a core


class Identities:
    """Recognises callers. Tells nobody whether a name exists, nor how much of a secret was right."""

    def __init__(self, access: RestAccess) -> None:
        self._tokens = [(holder.token, _caller(holder.name, holder.role)) for holder in access.tokens]
        self._users = {user.name: (user.password, _caller(user.name, user.role)) for user in access.users}
        self._certificates = [
            (holder.subject, _caller(holder.name, holder.role))
            for holder in sorted(access.certificates, key=lambda holder: holder.subject is None)
        ]
        self._anonymous = _caller(ANONYMOUS, access.anonymous_role)
        self._failures = Attempts()
        self._logins = _KnownLogins()
        self._hashing = asyncio.Semaphore(_PASSWORDS_AT_ONCE)
        self._nobody = PasswordHash.of_nobody() if self._users else None

    async def caller(self, authorization: str | None, certificate: bytes | None, client: str) -> Caller:
        """Who it is; raises RestError if it says who it is and that is not true."""
        if authorization is not None:
            scheme, _, credentials = authorization.partition(" ")
            if scheme.lower() == "bearer":
                return self._by_token(credentials.strip(), client)
            if scheme.lower() == "basic":
                return await self._by_password(credentials.strip(), client)
            raise self._refused(client, "Authorization takes Bearer or Basic")
        if certificate is not None:
            return self._by_certificate(certificate)
        return self._anonymous

    def _by_token(self, token: str, client: str) -> Caller:
        presented = TokenHash.of(token)
        found = [caller for known, caller in self._tokens if known.equals(presented)]
        if not found:
            raise self._refused(client, "the token is not known")
        return found[0]

    async def _by_password(self, credentials: str, client: str) -> Caller:
        name, password = _name_and_password(credentials)
        known, caller = self._users.get(name, (self._nobody, None))
        if caller is not None and self._logins.has(name, password):
            return caller
        self._check_patience(client)  # a wrong password costs us time, so it is not even looked at
        if known is None:
            raise self._refused(client, "name or password is wrong")
        async with self._hashing:
            is_right = await asyncio.to_thread(known.matches, password)
        if caller is None or not is_right:
            raise self._refused(client, "name or password is wrong")
        self._logins.add(name, password)
        return caller

    def _by_certificate(self, certificate: bytes) -> Caller:
        subject = x509.load_der_x509_certificate(certificate).subject
        return next((caller for name, caller in self._certificates if name in (None, subject)), self._anonymous)

    def _check_patience(self, client: str) -> None:
        wait = self._failures.seconds_to_wait(client)
        if wait > 0:
            seconds = str(int(wait) + 1)
            raise RestError(429, f"too many wrong attempts; try again in {seconds} s", {"Retry-After": seconds})

    def _refused(self, client: str, message: str) -> RestError:
        """What to say about a wrong attempt; those who made too many are told so, whatever it was."""
        self._check_patience(client)
        self._failures.add(client)
        return RestError(401, message, _CHALLENGE)


class _KnownLogins:
    """Passwords that were right a while ago, so that not each request costs a slow hash; kept as keyed hashes."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._marks: OrderedDict[bytes, None] = OrderedDict()

    def add(self, name: str, password: str) -> None:
        self._marks[self._mark(name, password)] = None
        while len(self._marks) > _KEPT_LOGINS:
            self._marks.popitem(last=False)

    def has(self, name: str, password: str) -> bool:
        return self._mark(name, password) in self._marks

    def _mark(self, name: str, password: str) -> bytes:
        text = f"{name}\0{password}".encode("utf-8", "surrogateescape")
        return hmac.new(self._key, text, hashlib.sha256).digest()


def _caller(name: str, role: str) -> Caller:
    return Caller(name, Role.PUBLIC if role == "none" else Role[role.upper()])


def _name_and_password(credentials: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(credentials, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return "", ""
    name, _, password = text.partition(":")
    return name, password
