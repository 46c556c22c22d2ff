"""Those whom a monitor tells: a webhook in this process, a real Pushgateway, a real Alertmanager."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from heliograph.embedded.child import ChildProcess
from heliograph.embedded.ports import free_ports
from tests.programs import program

_ALERTMANAGER = """
route: {receiver: nobody, group_wait: 1s}
receivers: [{name: nobody}]
"""


@dataclass
class Hook:
    """A webhook: what it was sent, and what it answers."""

    url: str
    received: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, credentials
    answer: int = 200

    def brief(self) -> list[tuple[str, str]]:
        """Severity and status of all that came."""
        return [(item["severity"], item["status"]) for item in self.received]


@contextmanager
def running_hook() -> Iterator[Hook]:
    """A webhook that listens until the end of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    hook = Hook(f"http://127.0.0.1:{server.server_address[1]}")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            hook.requests.append((self.command, self.path, self.headers.get("Authorization", "")))
            if hook.answer == 200:
                hook.received.append(json.loads(body))
            self.send_response(hook.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server.RequestHandlerClass = Handler
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def running_pushgateway(folder: Path) -> Iterator[str]:
    """A real Pushgateway; its address."""
    command = [program("prometheus-pushgateway", "prometheus-pushgateway")]
    with _serving("Pushgateway", command, folder) as url:
        yield url


@contextmanager
def running_alertmanager(folder: Path) -> Iterator[str]:
    """A real Alertmanager that tells nobody; its address."""
    command = [program("prometheus-alertmanager", "prometheus-alertmanager")]
    settings = folder / "alertmanager.yml"
    settings.write_text(_ALERTMANAGER)
    options = [f"--config.file={settings}", f"--storage.path={folder / 'data'}", "--cluster.listen-address="]
    with _serving("Alertmanager", [*command, *options], folder) as url:
        yield url


@contextmanager
def _serving(name: str, command: Sequence[str], folder: Path) -> Iterator[str]:
    address = f"127.0.0.1:{free_ports(1)[0]}"
    child = ChildProcess(name, [*command, f"--web.listen-address={address}"], folder / f"{name}.log")
    try:
        child.wait_until(lambda: _is_ready(f"http://{address}/-/ready"), 30)
        yield f"http://{address}"
    finally:
        child.stop()


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=30).is_success
    except httpx.TransportError:
        return False
