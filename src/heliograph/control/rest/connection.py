"""One connection of a client: uvicorn's, with what it lacks: patience that ends, and the client's certificate."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from heliograph.control.rest import limits
from heliograph.control.rest.entrance import Entrance
from heliograph.control.rest.tls_files import FollowedTls

log = logging.getLogger(__name__)


class EntranceConfig(uvicorn.Config):
    """uvicorn's settings for one entrance."""

    def __init__(self, app: Any, entrance: Entrance) -> None:
        tls = FollowedTls(entrance.tls) if entrance.tls else None
        super().__init__(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=limits.IDLE_SECONDS,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=limits.HEADER_BYTES,
            ssl_context_factory=(lambda _config, _default: tls.context) if tls else None,
        )
        self.entrance = entrance


class Connection(H11Protocol):
    """Ends when a request takes too long to arrive, or an answer too long to be taken."""

    config: EntranceConfig

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Remember who it is that TLS has shown us."""
        self._arrival = _Deadline(self.loop, limits.ARRIVAL_SECONDS, transport)
        self._departure = _Deadline(self.loop, limits.STUCK_SECONDS, transport)
        if len(self.connections) >= limits.CONNECTIONS:
            log.warning("the REST server has %d connections, and takes no more", limits.CONNECTIONS)
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        secured = transport.get_extra_info("ssl_object")
        certificate = secured.getpeercert(binary_form=True) if secured else None
        self.app_state = {**self.app_state, "entrance": self.config.entrance, "peer_certificate": certificate}
        self._arrival.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget all deadlines."""
        self._arrival.clear()
        self._departure.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A request that has begun must come to its end in time."""
        super().data_received(data)
        has_begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if has_begun or self.conn.their_state is h11.SEND_BODY:
            self._arrival.set()
        else:
            self._arrival.clear()

    def pause_writing(self) -> None:
        """The client does not read: for a while that is fine."""
        super().pause_writing()
        self._departure.set()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._departure.clear()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets Kafka Connect's body too."""
        body = json.dumps({"error_code": 400, "message": msg}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        events = (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Deadline:
    """Breaks a connection off, unless it is cleared in time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, transport: asyncio.Transport) -> None:
        self._loop = loop
        self._seconds = seconds
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None

    def set(self) -> None:
        """Begin to wait, unless that has begun."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._transport.abort)

    def clear(self) -> None:
        """Wait no longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
