"""Where the REST server listens, who may call it, and from where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from cryptography import x509

from heliograph.config.credential_hash import PasswordHash, TokenHash
from heliograph.config.header_rule import HeaderRule
from heliograph.config.listener import Listener
from heliograph.config.server_tls import ServerTls

ROLES: Final = ("viewer", "operator", "admin")
SIMPLE_METHODS: Final = ("GET", "POST", "HEAD")
ANONYMOUS: Final = "anonymous"
_NAME: Final = re.compile(r"[A-Za-z0-9._@-]+")


@dataclass(frozen=True)
class TokenHolder:
    """Whoever has a token."""

    name: str
    role: str
    token: TokenHash


@dataclass(frozen=True)
class User:
    """Whoever knows a password."""

    name: str
    role: str
    password: PasswordHash


@dataclass(frozen=True)
class CertificateHolder:
    """Whoever has the key of a certificate; without a subject, of any that is trusted."""

    name: str
    role: str
    subject: x509.Name | None


@dataclass(frozen=True)
class RestAccess:
    """All that the REST server must know before it lets anyone in."""

    listeners: tuple[Listener, ...]
    admin_listeners: tuple[Listener, ...] | None = None  # None: /admin is served on `listeners`
    tls: ServerTls | None = None
    admin_tls: ServerTls | None = None
    tokens: tuple[TokenHolder, ...] = ()
    users: tuple[User, ...] = ()
    certificates: tuple[CertificateHolder, ...] = ()
    anonymous_role: str = "none"
    own_names: frozenset[str] = frozenset()
    origins: tuple[str, ...] = ()
    origin_methods: tuple[str, ...] = SIMPLE_METHODS
    headers: tuple[HeaderRule, ...] = ()
    audit_file: str = ""

    @property
    def all_listeners(self) -> tuple[Listener, ...]:
        """Those for all and those for /admin."""
        return (*self.listeners, *(self.admin_listeners or ()))

    @property
    def knows_callers(self) -> bool:
        """Whether there is a way to say who one is."""
        return bool(self.tokens or self.users or self.certificates)


def check_name(name: str) -> None:
    """Whether a caller can be called so; raises ValueError."""
    if not _NAME.fullmatch(name):
        raise ValueError("a name has letters, digits, dot, underscore, hyphen and @")
    if name == ANONYMOUS:
        raise ValueError(f"{ANONYMOUS} is what callers are called who do not say who they are")
