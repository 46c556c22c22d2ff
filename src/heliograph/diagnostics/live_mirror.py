"""A mirror that runs, asked over REST for all that helps to understand it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from heliograph.config.listener import Listener
from heliograph.config.secret import Secret

_SECONDS = 10.0
_NOBODY = "nobody answers"
_NO_PROXY = {"http://": None, "https://": None}  # it would see the token
_OF_PROCESS = {
    "mirror.json": "/api/v1/mirror",
    "ready.json": "/readyz",
    "flows.json": "/api/v1/flows",
    "threads.json": "/api/v1/threads",
    "metrics.txt": "/metrics",
}
_OF_FLOW = {"flow.json": "", "partitions.json": "/partitions", "events.json": "/events", "plan.json": "/plan"}


@dataclass(frozen=True)
class Answer:
    """What the mirror said to one question; `problem` where it said nothing of use."""

    name: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True)
class LiveMirror:
    """Where a mirror can be asked, and who we say we are."""

    address: str
    token: Secret | None = None

    def answers(self, flows: Sequence[str]) -> Iterator[Answer]:
        """The answers to all questions; after the first that finds nobody, no other is asked."""
        headers = {"Authorization": f"Bearer {self.token.reveal()}"} if self.token else {}
        with httpx.Client(base_url=self.address, headers=headers, timeout=_SECONDS, mounts=_NO_PROXY) as client:
            for name, path in _questions(flows).items():
                answer = _asked(client, name, path)
                yield answer
                if answer.problem.startswith(_NOBODY):
                    return


def _questions(flows: Sequence[str]) -> dict[str, str]:
    about_flows = {
        f"{flow.replace('->', '-to-')}/{name}": f"/api/v1/flows/{quote(flow, safe='')}{path}"
        for flow in flows
        for name, path in _OF_FLOW.items()
    }
    return _OF_PROCESS | about_flows


def _asked(client: httpx.Client, name: str, path: str) -> Answer:
    try:
        response = client.get(path)
    except httpx.TransportError as error:
        return Answer(name, problem=f"{_NOBODY} at {client.base_url}: {error}")
    if response.status_code in (401, 403):
        return Answer(name, problem=f"{response.status_code}: it wants a token that may ask this; give --token-file")
    return Answer(name, response.text)


def address_of(listeners: Sequence[str]) -> str:
    """Where this machine reaches a server with these listeners: loopback first, as nobody is in between."""
    parsed = sorted(map(Listener.parse, listeners), key=lambda listener: not listener.is_loopback)
    if not parsed:
        return ""
    nearest = parsed[0]
    host = nearest.host if nearest.host not in ("", "0.0.0.0", "::") else "localhost"  # noqa: S104 - a comparison
    return str(Listener(nearest.scheme, host, nearest.port))
