from __future__ import annotations

import pytest

from heliograph.config.listener import Listener


@pytest.mark.parametrize(
    ("text", "host", "port", "is_loopback"),
    [
        ("http://:8083", "", 8083, False),
        ("http://127.0.0.1:8083", "127.0.0.1", 8083, True),
        ("https://[::1]:0", "::1", 0, True),
        ("https://[::]:8443", "::", 8443, False),
        ("http://localhost:1", "localhost", 1, True),
        ("http://localhost.example:1", "localhost.example", 1, False),
        ("http://0.0.0.0:1", "0.0.0.0", 1, False),
    ],
)
def test_addresses_are_read_and_written_alike(text: str, host: str, port: int, is_loopback: bool) -> None:
    listener = Listener.parse(text)
    assert (listener.host, listener.port, listener.is_loopback) == (host, port, is_loopback)
    assert listener.has_tls == text.startswith("https")
    assert str(listener) == text


@pytest.mark.parametrize(
    "text", ["", "localhost:8083", "http://localhost", "ftp://x:1", "http://x:70000", "http://x:1/y", "http://u@x:1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not http://host:port|Port"):
        Listener.parse(text)
