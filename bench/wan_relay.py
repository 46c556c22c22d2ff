"""A far away cluster: a TCP relay with the delay and the bandwidth of a long link.

    python -m bench.wan_relay --round-trip-ms 100 --megabits 200 20001:20002

Connections to port 20001 reach port 20002 of this machine. Bytes pass unchanged, so brokers must advertise the relay's
port. All connections share the bandwidth, which each direction has for itself. Windows of TCP are not part of it: as
many bytes are under way as the link holds. Connecting is not delayed either; what is said on a connection is.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_CHUNK_BYTES = 128 * 1024
_BURST_SECONDS = 0.02  # sleeps end late; what was missed by so little is caught up on
_CHUNKS_UNDER_WAY = 4096  # of one connection, when its receiver takes nothing


@dataclass(frozen=True)
class Link:
    """How far, and how wide."""

    round_trip_seconds: float
    bytes_per_second: float

    @classmethod
    def of(cls, round_trip_ms: float, megabits: float) -> Link:
        """In the units that links are sold in."""
        return cls(round_trip_ms / 1000, megabits * 1e6 / 8)

    @property
    def delay(self) -> float:
        """Seconds one way."""
        return self.round_trip_seconds / 2


class Direction:
    """One direction of a link, with its bandwidth as a bucket of time: whoever sends, books the time that it takes."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._free_at = 0.0

    def send(self, size: int, now: float) -> float:
        """Put so many bytes on the link; returns when the last of them is on its way."""
        self._free_at = max(self._free_at, now - _BURST_SECONDS) + size / self._link.bytes_per_second
        return max(self._free_at, now)

    async def carry(self, near: socket.socket, far: socket.socket) -> None:
        """Carry bytes from one end to the other until the sender has no more."""
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_UNDER_WAY)
        async with asyncio.TaskGroup() as both_ends:
            both_ends.create_task(self._take(near, under_way))
            both_ends.create_task(_deliver(far, under_way))

    async def _take(self, near: socket.socket, under_way: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Take bytes as fast as the link does, so that the sender feels its bandwidth."""
        chunk = b"more"
        while chunk:
            chunk = await asyncio.get_running_loop().sock_recv(near, _CHUNK_BYTES)
            sent_at = self.send(len(chunk), time.monotonic())
            await under_way.put((sent_at + self._link.delay, chunk))
            await _sleep_until(sent_at)


async def _deliver(far: socket.socket, under_way: asyncio.Queue[tuple[float, bytes]]) -> None:
    """Hand over each chunk when it is due; an empty one is the end."""
    while True:
        due, chunk = await under_way.get()
        await _sleep_until(due)
        if not chunk:
            far.shutdown(socket.SHUT_WR)
            return
        await asyncio.get_running_loop().sock_sendall(far, chunk)


async def _sleep_until(moment: float) -> None:
    pause = moment - time.monotonic()
    if pause > 0:
        await asyncio.sleep(pause)


class WanRelay:
    """Listens on ports, each of which leads to another one over the same link."""

    def __init__(self, link: Link, ports: Mapping[int, int]) -> None:
        self._there, self._back = Direction(link), Direction(link)
        self._ports = ports
        self._connections: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Relay until cancelled; says so when it has begun to listen."""
        with contextlib.ExitStack() as listening:
            async with asyncio.TaskGroup() as listeners:
                for port, destination in self._ports.items():
                    listener = listening.enter_context(socket.create_server(("127.0.0.1", port), backlog=128))
                    listener.setblocking(False)
                    listeners.create_task(self._accept(listener, destination))
                print(f"relaying {len(self._ports)} ports", flush=True)

    async def _accept(self, listener: socket.socket, destination: int) -> None:
        while True:
            client, _ = await asyncio.get_running_loop().sock_accept(listener)
            task = asyncio.create_task(self._relay(client, destination))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _relay(self, client: socket.socket, destination: int) -> None:
        """One connection; when an end breaks it, the other end sees it broken too."""
        with client, socket.socket() as server, contextlib.suppress(ExceptionGroup, OSError):
            for end in (client, server):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().sock_connect(server, ("127.0.0.1", destination))
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._there.carry(client, server))
                ways.create_task(self._back.carry(server, client))


@contextlib.contextmanager
def relayed(link: Link, ports: Mapping[int, int]) -> Iterator[None]:
    """A relay in a process of its own, which listens when this begins and has ended when this ends."""
    command = [
        sys.executable, "-m", "bench.wan_relay", "--round-trip-ms", str(link.round_trip_seconds * 1000),
        "--megabits", str(link.bytes_per_second * 8 / 1e6), *(f"{near}:{far}" for near, far in ports.items()),
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise AssertionError("the relay does not start")
            yield
        finally:
            process.terminate()


async def _relay_until_told(relay: WanRelay) -> None:
    task = asyncio.create_task(relay.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _port_pair(text: str) -> tuple[int, int]:
    near, _, far = text.partition(":")
    return int(near), int(far)


def main() -> None:
    """Relay until SIGTERM."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.wan_relay", description="A TCP relay as slow as a long link."
    )
    parser.add_argument("--round-trip-ms", type=float, default=100.0, help="delay of both directions together")
    parser.add_argument("--megabits", type=float, default=200.0, help="bandwidth of each direction, per second")
    parser.add_argument("ports", nargs="+", type=_port_pair, metavar="PORT:DESTINATION", help="ports of this machine")
    arguments = parser.parse_args()
    link = Link.of(arguments.round_trip_ms, arguments.megabits)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_relay_until_told(WanRelay(link, dict(arguments.ports))))


if __name__ == "__main__":
    main()
