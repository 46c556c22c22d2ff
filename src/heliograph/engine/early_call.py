"""Runs a module of Spark's that must call the JVM back, and calls first: `early_call.py -m MODULE`.

The JVM waits ten seconds for the process that plans the epochs of a query, which no setting can change. The process
would first load PySpark and all that this stands on, for a second of processor time; where many flows share few cores,
that takes longer than ten seconds. Only Python itself is loaded before this call, so nothing else may be imported here.
"""

from __future__ import annotations

import os
import runpy
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

_LOOPBACK, _LOOPBACK_6 = "127.0.0.1", "::1"


def _call() -> tuple[BinaryIO, socket.socket]:
    """Connect to the JVM as `pyspark.worker_util` does, and tell it our number."""
    environment = os.environ
    patience = int(environment.get("SPARK_AUTH_SOCKET_TIMEOUT", "15"))
    path, secret = environment.get("PYTHON_WORKER_FACTORY_SOCK_PATH"), environment.get("PYTHON_WORKER_FACTORY_SECRET")
    if path:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(patience)
        connection.connect(path)
    else:
        host = _LOOPBACK_6 if environment.get("SPARK_PREFER_IPV6", "").lower() == "true" else _LOOPBACK
        connection = socket.create_connection((host, int(environment["PYTHON_WORKER_FACTORY_PORT"])), patience)
    file = cast(BinaryIO, connection.makefile("rwb", int(environment.get("SPARK_BUFFER_SIZE", "65536"))))
    if secret and not path:
        _prove(file, secret.encode())
    file.write(os.getpid().to_bytes(4, "big"))
    file.flush()
    return file, connection


def _prove(file: BinaryIO, secret: bytes) -> None:
    """Show the JVM that it was it who has started us."""
    file.write(len(secret).to_bytes(4, "big") + secret)
    file.flush()
    size = int.from_bytes(file.read(4), "big")
    if file.read(size) != b"ok":
        raise ConnectionError("the JVM does not know the process that it has started")


def main() -> None:
    """Call, then run the module, which gets the connection when it would call."""
    file, connection = _call()
    module = sys.argv[2]
    sys.argv = [module]
    sys.path[0] = os.getcwd()  # as for every module that Python runs; it was the folder of this file

    @contextmanager
    def called(timeout: int | None = -1) -> Iterator[BinaryIO]:
        if timeout is None or timeout > 0:
            connection.settimeout(timeout)
        with file:
            yield file

    import pyspark.worker_util

    pyspark.worker_util.get_sock_file_to_executor = called
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
