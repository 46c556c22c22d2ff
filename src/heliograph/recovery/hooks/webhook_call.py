"""Tells a webhook something, with an end to the time that this may take."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import httpx

_PAUSE_SECONDS: Final = 0.5
_NOT_COMPRESSED: Final = {"Accept-Encoding": "identity", "User-Agent": "heliograph"}


@dataclass(frozen=True)
class WebhookResult:
    """What a webhook answered; without a status, why it did not."""

    status: int | None
    body: bytes
    failure: str = ""


def post(url: str, headers: Mapping[str, str], body: object, seconds: float, keep_bytes: int) -> WebhookResult:
    """POST a body as JSON; if the connection fails, once more. Redirects are not followed: secrets stay where they are.

    Proxies are those that the environment names (`HTTPS_PROXY` and so on), as with other programs.
    """
    call = _post_in_time(url, {**_NOT_COMPRESSED, **headers}, body, seconds, keep_bytes)
    return asyncio.run(call)


async def _post_in_time(
    url: str, headers: Mapping[str, str], body: object, seconds: float, keep_bytes: int
) -> WebhookResult:
    """The limits of the client are per read and write, and a server that drips its answer would never reach them."""
    try:
        async with asyncio.timeout(seconds), httpx.AsyncClient(timeout=None, headers=headers) as client:  # noqa: S113
            try:
                return await _post(client, url, body, keep_bytes)
            except (httpx.NetworkError, httpx.RemoteProtocolError):
                await asyncio.sleep(_PAUSE_SECONDS)
                return await _post(client, url, body, keep_bytes)
    except TimeoutError:
        return WebhookResult(None, b"", f"did not answer within {seconds:g} s")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return WebhookResult(None, b"", f"cannot be reached: {error or type(error).__name__}")


async def _post(client: httpx.AsyncClient, url: str, body: object, keep_bytes: int) -> WebhookResult:
    answer = b""
    async with client.stream("POST", url, json=body) as response:
        async for piece in response.aiter_raw():
            answer += piece
            if len(answer) >= keep_bytes:
                break
    failure = "" if response.is_success else f"answered {response.status_code} {response.reason_phrase}"
    return WebhookResult(response.status_code, answer[:keep_bytes], failure)
