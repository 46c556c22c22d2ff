"""Messages arrive or fail with a reason; addresses are never shown whole."""

from __future__ import annotations

import base64

import httpx
import pytest

from heliograph.embedded.ports import free_ports
from heliograph.monitor.endpoint import BadAddress, Delivery, Endpoint, check_address
from tests.monitor.receivers import Hook


def test_a_message_arrives_with_the_credentials_of_the_address(hook: Hook, client: httpx.Client) -> None:
    url = hook.url.replace("http://", "http://ann:pa55word@") + "/token-123/"
    endpoint = Endpoint("webhook", url, client)

    assert endpoint.send("POST", "/more", json={"a": 1}) == Delivery(f"webhook {hook.url}")

    login = base64.b64encode(b"ann:pa55word").decode()
    assert hook.requests == [("POST", "/token-123/more", f"Basic {login}")]
    assert hook.received == [{"a": 1}]


@pytest.mark.parametrize("answer", [302, 404, 500])
def test_any_answer_but_yes_is_a_failure(hook: Hook, client: httpx.Client, answer: int) -> None:
    hook.answer = answer
    assert str(answer) in Endpoint("webhook", hook.url, client).send("POST", json={}).failure


def test_what_fails_is_told_without_secrets(client: httpx.Client) -> None:
    (port,) = free_ports(1)
    delivery = Endpoint("webhook", f"http://ann:pa55word@127.0.0.1:{port}/token-123?key=k3y", client).send("POST")
    assert delivery.to == f"webhook http://127.0.0.1:{port}"
    assert delivery.failure
    assert not any(secret in f"{delivery}" for secret in ("ann", "pa55word", "token-123", "k3y"))


@pytest.mark.parametrize("url", ["http://host", "https://u:p@host:9091/path?x=y", "http://[::1]:9091"])
def test_addresses_of_web_servers_are_fine(url: str) -> None:
    check_address(url)


@pytest.mark.parametrize(
    "url", ["", "host:9091", "ftp://host/s3cret", "http://", "http://host:s3cret", "http://[s3cret"]
)
def test_other_addresses_are_refused_without_repeating_them(url: str) -> None:
    with pytest.raises(BadAddress) as refused:
        check_address(url)
    assert "s3cret" not in str(refused.value)
