"""A small schema registry over HTTP: Confluent's paths, answers and error codes, kept in memory."""

from __future__ import annotations

import json
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class RegistryServer:
    """The registry, and what tests want to know of it."""

    def __init__(self, first_id: int = 1) -> None:
        self.url = ""
        self.requests: list[str] = []  # method and path of each
        self.authorizations: set[str] = set()  # what clients may say; empty: anything
        self.status: int | None = None  # instead of every answer
        self.refused: set[str] = set()  # subjects whose compatibility check says no
        self._next_id = first_id
        self._ids: dict[str, int] = {}  # by the canonical text
        self._schemas: dict[int, dict[str, Any]] = {}
        self._subjects: dict[str, list[int]] = {}

    def add(self, subject: str, text: str, kind: str = "AVRO", references: list[dict[str, Any]] | None = None) -> int:
        """Register a schema without HTTP."""
        body: dict[str, Any] = {"schema": text}
        if kind != "AVRO":
            body["schemaType"] = kind
        if references:
            body["references"] = references
        return self._register(subject, body)

    def allow(self, user: str) -> None:
        """Answer only those who say that they are this user, with name and password."""
        self.authorizations.add("Basic " + b64encode(user.encode()).decode())

    def text(self, number: int) -> str:
        """The text of a schema."""
        return str(self._schemas[number]["schema"])

    def ids(self, subject: str) -> list[int]:
        """The ids of all versions of a subject."""
        return self._subjects.get(subject, [])

    def answer(self, method: str, path: str, authorization: str | None, body: Any) -> tuple[int, Any]:
        self.requests.append(f"{method} {path}")
        if self.status is not None:
            return self.status, {"error_code": self.status, "message": "no"}
        if self.authorizations and authorization not in self.authorizations:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        match method, parts:
            case "GET", ["schemas", "ids", number]:
                return self._by_id(int(number))
            case "GET", ["subjects", subject, "versions", version]:
                return self._by_version(subject, version)
            case "POST", ["subjects", subject, "versions"]:
                if subject in self.refused:
                    return 409, {"error_code": 409, "message": "Schema being registered is incompatible"}
                return 200, {"id": self._register(subject, body)}
            case "POST", ["subjects", subject]:
                return self._look_up(subject, body)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _register(self, subject: str, body: dict[str, Any]) -> int:
        canonical = json.dumps(body, sort_keys=True)
        if canonical not in self._ids:
            self._ids[canonical] = self._next_id
            self._schemas[self._next_id] = body
            self._next_id += 1
        number = self._ids[canonical]
        versions = self._subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def _by_id(self, number: int) -> tuple[int, Any]:
        found = self._schemas.get(number)
        return (200, found) if found else (404, {"error_code": 40403, "message": f"Schema {number} not found"})

    def _by_version(self, subject: str, version: str) -> tuple[int, Any]:
        versions = self.ids(subject)
        at = len(versions) if version == "latest" else int(version)
        if not 0 < at <= len(versions):
            return 404, {"error_code": 40402, "message": "Version not found"}
        number = versions[at - 1]
        return 200, {"subject": subject, "version": at, "id": number, **self._schemas[number]}

    def _look_up(self, subject: str, body: Any) -> tuple[int, Any]:
        number = self._ids.get(json.dumps(body, sort_keys=True))
        if number is None or number not in self.ids(subject):
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, {"subject": subject, "id": number, "version": self.ids(subject).index(number) + 1}


@contextmanager
def running_registry(first_id: int = 1, certificate: Path | None = None) -> Iterator[RegistryServer]:
    """A registry on a free port of this machine, until the block ends; over TLS if it has a certificate."""
    registry = RegistryServer(first_id)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(None)

        def do_POST(self) -> None:
            self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _reply(self, body: Any) -> None:
            status, content = registry.answer(self.command, self.path, self.headers["Authorization"], body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    registry.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
