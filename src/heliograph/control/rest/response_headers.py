"""Headers that every response carries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from email.utils import formatdate
from typing import Final

from starlette.datastructures import MutableHeaders

from heliograph.config.header_rule import HeaderRule

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
_ALWAYS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_UNLESS_STATED: Final = {"Cache-Control": "no-store"}


def complete(headers: MutableHeaders, rules: Sequence[HeaderRule]) -> None:
    """Add what protects browsers, then what the operator asked for, who has the last word."""
    for name, value in _ALWAYS.items():
        headers[name] = value
    for name, value in _UNLESS_STATED.items():
        headers.setdefault(name, value)
    for rule in rules:
        value = formatdate(time.time() + int(rule.value) / 1000, usegmt=True) if rule.is_date else rule.value
        if rule.replaces:
            headers[rule.name] = value
        else:
            headers.append(rule.name, value)
