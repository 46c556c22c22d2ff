"""A lean connection to one broker: framed requests out, responses back in order, no copies of large data.

The Kafka client library's own network layer copies every response several times. Data travels here instead: requests
leave as lists of buffers (`sendmsg`), fetch responses arrive in a buffer that the caller owns and uses again.
"""

from __future__ import annotations

import math
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from kafka.net.sasl.abc import SaslMechanism
from kafka.protocol.api_header import RequestHeader
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from heliograph.config.stores import StoreError
from heliograph.errors import AuthenticationFailed, BrokerUnavailable, ClusterError, LoopFailed
from heliograph.kafka.access import Access

Buffer = bytes | bytearray | memoryview
Handler = Callable[[memoryview], None]
Memory = Callable[[int], bytearray]
LossHandler = Callable[[ClusterError], None]

_MAX_PIECES = 512  # what one sendmsg takes on common systems is 1024
_TLS_RECORD = 16 * 1024  # the most that one record of TLS holds; each costs a call, a header and a checksum
_INTRODUCTION_SECONDS = 10.0  # for each step of TLS, versions and login: a broker that starts may be slow
_DEADLINE_CHECK_SECONDS = 0.2
_NAME_SECONDS = 30.0  # until the system gives up looking for an address
_ADDRESSES = 4  # of one name, which are tried one after the other
_TOKEN_SECONDS = 60.0  # until a token endpoint has answered, or not
_HOPELESS_SECONDS = 10.0
_STALL_SECONDS = 10.0  # without a single byte of an answer that has begun to arrive
_LOGIN_AGAIN_AFTER = 0.85  # of a session: brokers close connections that go on after its end
_LOGIN_KEYS = {SaslHandshakeRequest.API_KEY, SaslAuthenticateRequest.API_KEY}
# A machine that has vanished is noticed after 11 s, and not only when an answer is overdue.
_KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}


@dataclass
class _Pending:
    """A request whose response has not come yet."""

    correlation_id: int
    handler: Handler
    memory: Memory
    patience: float  # seconds
    deadline: float
    on_lost: LossHandler | None

    def is_overdue(self, now: float, heard_at: float) -> bool:
        """Whether it has waited for too long. Over a slow link one answer takes minutes: it may, as long as it comes.

        What was asked for later is answered later, so whatever arrives is on its way to the oldest request.
        """
        return max(self.deadline, heard_at + min(self.patience, _STALL_SECONDS)) < now


class Connection:
    """One TCP or TLS connection; non-blocking, driven by a `Loop`. Once lost, it stays so."""

    def __init__(self, loop: Loop, host: str, port: int, access: Access) -> None:
        self.address = (host, port)
        self.name = f"{access.alias} broker {host}:{port}"
        self._loop = loop
        self._access = access
        self._versions: dict[int, tuple[int, int]] = {}
        self._features: dict[str, int] = {}
        self._correlation_id = 0
        self._pending: deque[_Pending] = deque()
        self._outbox: deque[memoryview] = deque()
        self._held: deque[tuple[list[memoryview], _Pending]] = deque()  # what waits for a login to end
        self._is_logging_in_again = False
        self._log_in_again_at = math.inf
        self._header = bytearray(4)
        self._body: memoryview | None = None
        self._received = 0
        self._heard_at = -math.inf  # when anything arrived last
        self._loss: ClusterError | None = None
        self.round_trip = math.inf  # seconds that the quickest answer has taken
        try:
            self._socket = self._connect(host, port)
        finally:
            self._over()
        try:
            self._introduce(host)
        except BaseException:
            self.close()
            raise

    def _over(self) -> None:
        """A step that could have taken long is over: what follows has no time to spare."""
        self._loop.before(f"waiting for {self.name}", 0.0)

    # -- set-up ---------------------------------------------------------------------------------------------------

    def _connect(self, host: str, port: int) -> socket.socket:
        seconds = self._access.connect_timeout_ms / 1000
        self._loop.before(f"connecting to {self.name}", _NAME_SECONDS + _ADDRESSES * seconds + _INTRODUCTION_SECONDS)
        try:
            wrapped = self._opened(host, port, seconds)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:  # who refuses us says so; who ends does not
            raise BrokerUnavailable(f"{self.name}: cannot connect: {error}") from error
        except ssl.SSLError as error:
            raise AuthenticationFailed(f"{self.name}: TLS refused: {error.reason or error}") from error
        except StoreError as error:
            raise AuthenticationFailed(f"{self.name}: {error}") from error
        except OSError as error:
            raise BrokerUnavailable(f"{self.name}: cannot connect: {error}") from error
        wrapped.setblocking(False)
        self._loop.register(wrapped, self)
        return wrapped

    def _opened(self, host: str, port: int, seconds: float) -> socket.socket:
        plain = socket.create_connection((host, port), timeout=seconds)
        try:
            plain.settimeout(_INTRODUCTION_SECONDS)
            _tune(plain, self._access)
            context = self._access.tls_context()
            return context.wrap_socket(plain, server_hostname=host) if context else plain
        except BaseException:
            plain.close()
            raise

    def _introduce(self, host: str) -> None:
        request = ApiVersionsRequest(client_software_name="heliograph", client_software_version="0")
        answer = self.call(request, 3, self._introduction_seconds)
        self._versions = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
        self._features = {feature.name: feature.max_version_level for feature in answer.finalized_features}
        mechanism = self._access.sasl(host)
        if mechanism is not None:
            self._log_in(mechanism)

    def _log_in(self, mechanism: SaslMechanism) -> None:
        name = self._access.credentials.mechanism if self._access.credentials else ""
        handshake = self.call(SaslHandshakeRequest(mechanism=name), 1, self._introduction_seconds)
        if handshake.error_code:
            raise AuthenticationFailed(
                f"{self.name}: does not offer SASL {name}, only {', '.join(handshake.mechanisms)}"
            )
        while not mechanism.is_done():
            request = SaslAuthenticateRequest(auth_bytes=self._proof(mechanism))
            self._hear_login(mechanism, self.call(request, 1, self._introduction_seconds))

    def _proof(self, mechanism: SaslMechanism) -> bytes:
        """What proves who we are; a token has to be fetched first."""
        self._loop.before(f"logging in at {self.name}", _TOKEN_SECONDS)
        try:
            proof: bytes = mechanism.auth_bytes()
            return proof
        finally:
            self._over()

    def _hear_login(self, mechanism: SaslMechanism, reply: SaslAuthenticateResponse) -> None:
        """Raise if we are not let in; note for how long we are."""
        name = self._access.credentials.mechanism if self._access.credentials else ""
        if reply.error_code:
            raise AuthenticationFailed(f"{self.name}: SASL {name} login refused: {reply.error_message}")
        try:
            mechanism.receive(reply.auth_bytes)
        except ValueError as error:  # the broker could not prove that it knows the password too
            raise AuthenticationFailed(f"{self.name}: SASL {name} login failed: {error}") from error
        if reply.session_lifetime_ms > 0:
            self._log_in_again_at = time.monotonic() + _LOGIN_AGAIN_AFTER * reply.session_lifetime_ms / 1000

    # -- logging in again (KIP-368) -------------------------------------------------------------------------------
    # A broker closes the connection of whoever asks for something after the end of a session. It takes a new login
    # between requests, but nothing else until that is done. So requests that come meanwhile are held back.

    def _is_held_back(self) -> bool:
        """Whether requests have to wait for a login, which begins now if it is time."""
        if time.monotonic() >= self._log_in_again_at:
            self._log_in_again_at = math.inf
            self._is_logging_in_again = True
            name = self._access.credentials.mechanism if self._access.credentials else ""
            self._ask_for_login(SaslHandshakeRequest(mechanism=name), self._shake_hands)
        return self._is_logging_in_again

    def _ask_for_login(self, request: ApiMessage, handler: Callable[[Any], None]) -> None:
        """Nobody waits for the answer itself; a loss is told to those who wait behind it."""
        self.submit(request, 1, handler, self._introduction_seconds, on_lost=lambda _: None)

    def _shake_hands(self, handshake: SaslHandshakeResponse) -> None:
        if handshake.error_code:
            self._lose(AuthenticationFailed(f"{self.name}: does not offer the SASL mechanism any more"))
            return
        mechanism = self._access.sasl(self.address[0])
        assert mechanism is not None
        self._go_on_logging_in(mechanism)

    def _go_on_logging_in(self, mechanism: SaslMechanism) -> None:
        try:
            request = SaslAuthenticateRequest(auth_bytes=self._proof(mechanism))
        except ClusterError as error:
            self._lose(error)
            return
        self._ask_for_login(request, partial(self._end_login, mechanism))

    def _end_login(self, mechanism: SaslMechanism, reply: SaslAuthenticateResponse) -> None:
        try:
            self._hear_login(mechanism, reply)
        except AuthenticationFailed as error:
            self._lose(error)
            return
        if not mechanism.is_done():
            self._go_on_logging_in(mechanism)
            return
        self._is_logging_in_again = False
        while self._held:
            self._post(*self._held.popleft())

    @property
    def _introduction_seconds(self) -> float:
        return min(_INTRODUCTION_SECONDS, self._access.request_timeout_ms / 1000)

    # -- requests -------------------------------------------------------------------------------------------------

    @property
    def has_pending(self) -> bool:
        """Whether an answer may still come."""
        return bool(self._pending)

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent, as far as we know."""
        return self._loss is None

    def version(self, message: type[ApiMessage] | int, highest: int, lowest: int = 0) -> int:
        """The newest version of a request that the broker and we both speak."""
        key = message if isinstance(message, int) else message.API_KEY
        oldest, newest = self._versions.get(key, (0, -1))
        chosen = min(newest, highest)
        if chosen < max(oldest, lowest):
            raise BrokerUnavailable(
                f"{self.name}: speaks versions {oldest} to {newest} of request {key}, {lowest} is needed"
            )
        return chosen

    def speaks(self, message: type[ApiMessage], version: int) -> bool:
        """Whether the broker knows this version of a request."""
        oldest, newest = self._versions.get(message.API_KEY, (0, -1))
        return oldest <= version <= newest

    def feature(self, name: str) -> int:
        """The level of a feature that the whole cluster has agreed on; 0 if it knows nothing of it."""
        return self._features.get(name, 0)

    def call(self, request: ApiMessage, version: int | None = None, timeout: float | None = None) -> Any:
        """Send one request of the client library's classes and wait for the answer."""
        chosen = self.version(type(request), request.max_version) if version is None else version
        asked = time.monotonic()
        [answer] = self.call_all([request], chosen, timeout)
        self.round_trip = min(self.round_trip, time.monotonic() - asked)
        return answer

    def call_all(self, requests: Sequence[ApiMessage], version: int, timeout: float | None = None) -> list[Any]:
        """Send several requests without waiting in between, and wait for all answers."""
        answers: list[Any] = []
        losses: list[ClusterError] = []
        for request in requests:
            self.submit(request, version, answers.append, timeout, losses.append)
        awaited = f"{self.name} to answer {type(requests[0]).__name__}" if requests else ""
        self._loop.run_until(lambda: bool(losses) or len(answers) == len(requests), awaited)
        if losses:
            raise losses[0]
        return answers

    def submit(
        self,
        request: ApiMessage,
        version: int,
        handler: Callable[[Any], None],
        timeout: float | None = None,
        on_lost: LossHandler | None = None,
    ) -> None:
        """Send one request of the client library's classes; the handler gets the decoded answer later."""
        flexible = request.flexible_version_q(version)
        response_class = RequestHeader(
            request_api_key=request.API_KEY, request_api_version=version
        ).get_response_class()
        # The response header of ApiVersions is never flexible: old brokers must be able to answer.
        skip = 5 if flexible and not isinstance(request, ApiVersionsRequest) else 4
        self.send(
            request.API_KEY, version, flexible, [request.encode(version=version)],
            lambda body: handler(response_class.decode(body[skip:], version=version)),
            timeout=timeout, on_lost=on_lost,
        )  # fmt: skip

    def send(
        self,
        api_key: int,
        version: int,
        flexible: bool,
        body: Sequence[Buffer],
        handler: Handler,
        memory: Memory = bytearray,
        timeout: float | None = None,
        on_lost: LossHandler | None = None,
    ) -> None:
        """Send one request made of buffers, which must not change before the answer; the answer goes to the handler.

        `memory` provides at least so many bytes for the answer, so that large answers need not be allocated each time.
        When the connection is lost first, `on_lost` is told. Without it the loss is raised where the loop runs, which
        is only for callers who run it themselves until the answer is there.
        """
        is_held_back = api_key not in _LOGIN_KEYS and self._is_held_back()
        self._correlation_id += 1
        client_id = self._access.client_id.encode()
        header = b"".join((
            api_key.to_bytes(2, "big"), version.to_bytes(2, "big"), self._correlation_id.to_bytes(4, "big"),
            len(client_id).to_bytes(2, "big"), client_id, b"\0" if flexible else b"",
        ))  # fmt: skip
        size = len(header) + sum(len(piece) for piece in body)
        patience = timeout if timeout is not None else self._access.request_timeout_ms / 1000
        pending = _Pending(self._correlation_id, handler, memory, patience, time.monotonic() + patience, on_lost)
        pieces = [memoryview(size.to_bytes(4, "big") + header), *(memoryview(piece) for piece in body)]
        if self._loss is not None:
            self._pending.append(pending)
            self._tell_loss(self._loss)
        elif is_held_back:
            self._held.append((pieces, pending))
        else:
            self._post(pieces, pending)

    def _post(self, pieces: Sequence[memoryview], pending: _Pending) -> None:
        self._pending.append(pending)
        self._outbox.extend(pieces)
        self.flush()

    def move_to(self, loop: Loop) -> None:
        """Belong to another loop from now on; the one before ends. Nothing may be under way."""
        before, self._loop = self._loop, loop
        before.unregister(self._socket)
        before.close()
        loop.register(self._socket, self)

    def close(self) -> None:
        """Close the socket; requests in flight are forgotten."""
        if self._loss is None:
            self._loss = BrokerUnavailable(f"{self.name}: the connection is closed")
            self._pending.clear()
            self._held.clear()
            self._hang_up()

    def _hang_up(self) -> None:
        self._loop.unregister(self._socket)
        self._socket.close()

    # -- called by the loop ---------------------------------------------------------------------------------------

    def check_deadline(self, now: float) -> None:
        """Give the connection up when the oldest request has waited too long, and nothing of its answer comes."""
        if self._pending and self._pending[0].is_overdue(now, self._heard_at):
            self._lose(BrokerUnavailable(f"{self.name}: no answer in time"))

    def flush(self) -> None:
        """Write as much as the socket takes now."""
        outbox = self._outbox
        try:
            while outbox:
                self._drop_written(self._write_some())
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError as error:
            self._lose(self._meaning(error))
            return
        self._loop.watch_writes(self._socket, bool(outbox))

    def _lose(self, loss: ClusterError) -> None:
        """Nothing more comes from here. Nobody need know of the end of a connection that nobody waits for."""
        self._loss = loss
        self._hang_up()
        self._tell_loss(loss)

    def _tell_loss(self, loss: ClusterError) -> None:
        waiting = [*self._pending, *(pending for _, pending in self._held)]
        self._pending.clear()
        self._held.clear()
        for pending in waiting:
            if pending.on_lost is not None:
                pending.on_lost(loss)
        if any(pending.on_lost is None for pending in waiting):
            raise loss

    def _meaning(self, error: OSError) -> ClusterError:
        """What a broken connection means: under TLS 1.3 a client certificate is refused only after the handshake."""
        if isinstance(error, ssl.SSLError):
            if "ALERT" in (error.reason or ""):
                return AuthenticationFailed(f"{self.name}: TLS refused: {error.reason}")
            if not self._versions:
                return AuthenticationFailed(
                    f"{self.name}: TLS refused: closed without a word, as for a bad certificate"
                )
        return BrokerUnavailable(f"{self.name}: connection lost: {error}")

    def _write_some(self) -> int:
        if isinstance(self._socket, ssl.SSLSocket):
            return self._socket.send(self._tls_record())
        pieces = [self._outbox[i] for i in range(min(len(self._outbox), _MAX_PIECES))]
        return self._socket.sendmsg(pieces)

    def _tls_record(self) -> Buffer:
        """What to send next under TLS: small pieces leave together.

        When the socket takes nothing, TLS wants the same bytes again later, perhaps with more behind them. So pieces
        are taken from the front, and as many as fit: what comes to the outbox meanwhile can only make it longer.
        """
        outbox, chosen, size = self._outbox, [], 0
        for piece in outbox:
            if size + len(piece) > _TLS_RECORD:
                break
            chosen.append(piece)
            size += len(piece)
        return b"".join(chosen) if len(chosen) > 1 else outbox[0]

    def _drop_written(self, count: int) -> None:
        outbox = self._outbox
        while count:
            first = outbox[0]
            if len(first) > count:
                outbox[0] = first[count:]
                return
            count -= len(first)
            outbox.popleft()
        while outbox and not len(outbox[0]):
            outbox.popleft()

    def receive(self) -> None:
        """Read what has arrived and hand complete responses to their handlers."""
        try:
            while self.is_open and self._read_some():
                pass
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            self._lose(self._meaning(error))

    def _read_some(self) -> bool:
        """Read once; whether it is worth trying again at once."""
        if self._body is None:
            count = self._socket.recv_into(memoryview(self._header)[self._received :])
            self._expect_data(count)
            self._received += count
            if self._received == 4:
                self._begin_body(int.from_bytes(self._header, "big"))
            return True
        count = self._socket.recv_into(self._body[self._received :])
        self._expect_data(count)
        self._received += count
        if self._received < len(self._body):
            return True
        self._complete()
        # More responses may wait inside the TLS layer, where the selector does not see them.
        return isinstance(self._socket, ssl.SSLSocket)

    def _expect_data(self, count: int) -> None:
        if count == 0:
            raise ConnectionResetError("the broker closed it")
        self._heard_at = time.monotonic()

    def _begin_body(self, size: int) -> None:
        if not self._pending:
            raise ConnectionAbortedError("the broker answered without being asked")
        self._body = memoryview(self._pending[0].memory(size))[:size]
        self._received = 0

    def _complete(self) -> None:
        body = self._body
        assert body is not None
        self._body, self._received = None, 0
        if int.from_bytes(body[:4], "big") != self._pending[0].correlation_id:
            raise ConnectionAbortedError("the broker answered out of order")
        self._pending.popleft().handler(body)


def _tune(plain: socket.socket, access: Access) -> None:
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, size in ((socket.SO_SNDBUF, access.send_buffer), (socket.SO_RCVBUF, access.receive_buffer)):
        if size >= 0 and _is_granted(option, size):
            plain.setsockopt(socket.SOL_SOCKET, option, size)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@cache
def _is_granted(option: int, size: int) -> bool:
    """Whether the system gives a socket so large a buffer.

    One that is cut short stays so, while the buffers of sockets that nobody has tuned grow as a far broker needs it.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, option, size)
        return probe.getsockopt(socket.SOL_SOCKET, option) >= size


class Loop:
    """Waits for all connections of a lane at once."""

    def __init__(
        self, watch: Callable[[], None] = lambda: None, before: Callable[[str, float], None] = lambda *_: None
    ) -> None:
        """`watch` is called every now and then while the loop runs, whoever waits for whatever.

        `before` is told of what is about to be done while the loop does not run, and how many seconds it may take.
        """
        try:
            self._selector = selectors.DefaultSelector()
        except OSError as error:  # too many open files
            raise BrokerUnavailable(f"no connection can be watched: {error}") from error
        self.before = before
        self.awaited = ""  # what whoever runs the loop waits for just now, if it is an answer
        self._watch = watch
        self._failure: ClusterError | None = None
        self._next_check = 0.0

    def fail(self, why: ClusterError) -> None:
        """Give up all that is awaited: every wait on this loop ends with `LoopFailed`, from now on."""
        self._failure = self._failure or why

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise LoopFailed(self._failure)

    def register(self, endpoint: socket.socket, connection: Connection) -> None:
        """Begin to watch a connection."""
        self._selector.register(endpoint, selectors.EVENT_READ, connection)

    def unregister(self, endpoint: socket.socket) -> None:
        """Stop watching a connection."""
        if endpoint.fileno() in self._selector.get_map():
            self._selector.unregister(endpoint)

    def watch_writes(self, endpoint: socket.socket, wanted: bool) -> None:
        """Whether to be told when a socket takes more."""
        key = self._selector.get_map().get(endpoint.fileno())
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        if key is not None and key.events != events:
            self._selector.modify(endpoint, events, key.data)

    def run_once(self, timeout: float) -> None:
        """Wait for something to happen, and let it happen."""
        self._check_failure()
        for key, events in self._selector.select(timeout):
            connection: Connection = key.data
            if events & selectors.EVENT_WRITE and connection.is_open:
                connection.flush()
            if events & selectors.EVENT_READ and connection.is_open:
                connection.receive()
            self._check_failure()
        self._check_deadlines()
        self._check_failure()

    def run_until(self, condition: Callable[[], bool], awaited: str = "") -> None:
        """Let things happen until the condition holds.

        Every request has a deadline, so this ends. Should a request ever be forgotten, there is nothing left that could
        still happen, and this ends too.
        """
        before, self.awaited = self.awaited, awaited or self.awaited
        hopeless_at = time.monotonic() + _HOPELESS_SECONDS
        try:
            while not condition():
                self.run_once(0.2)
                if self._has_pending():
                    hopeless_at = time.monotonic() + _HOPELESS_SECONDS
                elif time.monotonic() > hopeless_at:
                    raise BrokerUnavailable(f"{awaited or 'an answer'} is awaited, but no request is under way")
        finally:
            self.awaited = before

    def _has_pending(self) -> bool:
        return any(key.data.has_pending for key in self._selector.get_map().values())

    def _check_deadlines(self) -> None:
        """A silent broker is noticed also while others keep us busy."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + _DEADLINE_CHECK_SECONDS
        for key in list(self._selector.get_map().values()):
            key.data.check_deadline(now)
        self._watch()

    def close(self) -> None:
        """Close every connection."""
        for key in list(self._selector.get_map().values()):
            key.data.close()
        self._selector.close()
