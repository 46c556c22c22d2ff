"""What every request passes on its way in, and every answer on its way out."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heliograph.config.rest_access import ANONYMOUS, RestAccess
from heliograph.control.rest import response_headers
from heliograph.control.rest.audit import AuditedRequest, AuditLog, current_request
from heliograph.control.rest.entrance import Entrance
from heliograph.control.rest.error_answers import answer, rest_error
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.identity import Identities
from heliograph.control.rest.limits import check_size, read_body, replayed
from heliograph.control.rest.origins import SAFE_METHODS, Origins
from heliograph.control.rest.roles import Caller, Role, RoleRule
from heliograph.control.rest.rules import role_of

_REFUSALS = (401, 403, 429)
_ADMIN = "/admin"
_NOBODY = Caller(ANONYMOUS, Role.PUBLIC)
_KNOWN = RoleRule(Role.VIEWER)


@dataclass
class _Exchange:
    """One request and how it is answered."""

    scope: Scope
    headers: Headers
    audited: AuditedRequest
    more_headers: dict[str, str] = field(default_factory=dict)
    varies_by_origin: bool = False
    caller: Caller = _NOBODY
    code: int = 0  # of the answer; 0: none yet
    reason: str = ""

    @property
    def method(self) -> str:
        return str(self.scope["method"])


class Gate:
    """Refuses what is too much, misdirected or forged; finds out who calls; answers errors; keeps the audit."""

    def __init__(self, app: ASGIApp, access: RestAccess, audit: AuditLog) -> None:
        self._app = app
        self._audit = audit
        self._origins = Origins(access)
        self._identities = Identities(access)
        self._header_rules = access.headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _exchange(scope)
        token = current_request.set(exchange.audited)
        try:
            await self._answer(exchange, receive, self._completed(exchange, send))
        finally:
            current_request.reset(token)

    async def _answer(self, exchange: _Exchange, receive: Receive, send: Send) -> None:
        try:
            await self._pass_on(exchange, receive, send)
        except Exception as error:
            told = rest_error(error)
            exchange.reason = str(told)
            if exchange.code:
                raise  # the answer has begun; all that is left is to break it off
            await answer(told)(exchange.scope, receive, send)

    async def _pass_on(self, exchange: _Exchange, receive: Receive, send: Send) -> None:
        scope, headers = exchange.scope, exchange.headers
        entrance: Entrance = scope["state"]["entrance"]
        check_size(scope["headers"], len(scope["raw_path"]) + len(scope["query_string"]))
        self._origins.check_host(headers.get("host"), entrance.listener)
        _check_entrance(scope["path"], entrance)
        exchange.varies_by_origin = self._origins.has_others
        exchange.more_headers = self._origins.headers_for(headers.get("origin"))
        preflight = self._origins.preflight(exchange.method, headers)
        if preflight is not None:
            await Response(headers=preflight)(scope, receive, send)
            return
        certificate = scope["state"].get("peer_certificate")
        client = exchange.audited.host
        exchange.caller = await self._identities.caller(headers.get("authorization"), certificate, client)
        scope["state"]["caller"] = exchange.caller
        self._origins.check_origin(exchange.method, headers.get("origin"), headers.get("host"))
        if exchange.method not in SAFE_METHODS:
            _KNOWN.check(Request(scope))  # before its body is read: nobody may change anything without a name
        await self._app(scope, await _checked_body(exchange, receive), send)

    def _completed(self, exchange: _Exchange, send: Send) -> Send:
        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.code = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(exchange.more_headers)
                if exchange.varies_by_origin:
                    headers.add_vary_header("Origin")
                response_headers.complete(headers, self._header_rules)
                self._write_down(exchange)
            await send(message)

        return send_completed

    def _write_down(self, exchange: _Exchange) -> None:
        """Changes write their own lines; here come refusals, failures, and changes that forgot to."""
        what, code = exchange.audited.what, exchange.code
        if code in _REFUSALS:
            self._audit.refused(exchange.caller, what, code, exchange.reason)
        elif exchange.method not in SAFE_METHODS and (role_of(exchange.scope.get("route")) or 0) >= Role.OPERATOR:
            if code >= 400:
                self._audit.failed(exchange.caller, what, code, exchange.reason)
            elif not exchange.audited.is_written:
                self._audit.write(exchange.caller, what, {}, {})


def _exchange(scope: Scope) -> _Exchange:
    client = scope.get("client") or ("", 0)
    audited = AuditedRequest(client[0], client[1], f"{scope['method']} {scope['path']}")
    # As any server does: HEAD is GET whose body the server below leaves out.
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    return _Exchange({**scope, "method": method}, Headers(scope=scope), audited)


def _check_entrance(path: str, entrance: Entrance) -> None:
    is_admin = path == _ADMIN or path.startswith(f"{_ADMIN}/")
    if not (entrance.serves_admin if is_admin else entrance.serves_others):
        raise RestError(404, "HTTP 404 Not Found")


async def _checked_body(exchange: _Exchange, receive: Receive) -> Receive:
    headers = exchange.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return receive
    body = await read_body(receive, headers.get("content-length"))
    if body and exchange.method not in SAFE_METHODS and not _is_json(headers.get("content-type", "")):
        raise RestError(415, "HTTP 415 Unsupported Media Type: send a body as application/json")
    return replayed(body, receive)


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
