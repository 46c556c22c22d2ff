"""The process that plans epochs calls the JVM before it loads PySpark, for which the JVM would not wait."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.engine.quick_python import quick_python

_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
_SLOW = """
import os, sys, time
deadline = time.monotonic() + 30
while not os.path.exists(os.environ["MAY_LOAD"]) and time.monotonic() < deadline:
    time.sleep(0.01)
"""
_UTIL = "def get_sock_file_to_executor(timeout=-1):\n    raise AssertionError('called twice')\n"
_MAIN = """
import os, sys
from pyspark.worker_util import get_sock_file_to_executor
if __name__ == "__main__":
    with get_sock_file_to_executor(timeout=None) as file:
        asked = file.read(4)
        place = "cwd" if sys.path[0] == os.getcwd() else sys.path[0]
        file.write(asked + f" {sys.argv[1:]} {place}".encode())
        file.flush()
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A PySpark that takes as long to load as it is told to."""
    folder = tmp_path / "packages"
    streaming = folder / "pyspark" / "sql" / "streaming"
    streaming.mkdir(parents=True)
    (folder / "pyspark" / "__init__.py").write_text(_SLOW)
    (folder / "pyspark" / "worker_util.py").write_text(_UTIL)
    (streaming / "python_streaming_source_runner.py").write_text(_MAIN)
    return folder


def environment(packages: Path, **given: str) -> dict[str, str]:
    may_load = str(packages.parent / "may-load")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "MAY_LOAD": may_load, **given}


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """Where the JVM waits for a call."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "jvm"))
        server.listen()
        server.settimeout(20)
        yield server


def test_it_calls_first_and_then_loads(tmp_path: Path, packages: Path, listener: socket.socket) -> None:
    python = quick_python(tmp_path)
    given = environment(packages, PYTHON_WORKER_FACTORY_SOCK_PATH=listener.getsockname())
    with subprocess.Popen([python, "-m", _RUNNER], env=given, cwd=tmp_path) as process:
        connection, _ = listener.accept()
        connection.settimeout(30)
        with connection, connection.makefile("rwb") as file:
            assert int.from_bytes(file.read(4), "big") == process.pid
            (tmp_path / "may-load").touch()
            file.write(b"work")
            file.flush()
            assert file.read() == b"work [] cwd"
    assert process.returncode == 0


def test_it_proves_who_it_is_where_anybody_could_call(tmp_path: Path, packages: Path) -> None:
    (tmp_path / "may-load").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        port = str(server.getsockname()[1])
        given = environment(packages, PYTHON_WORKER_FACTORY_PORT=port, PYTHON_WORKER_FACTORY_SECRET="hidden")
        with subprocess.Popen([quick_python(tmp_path), "-m", _RUNNER], env=given, cwd=tmp_path) as process:
            connection, _ = server.accept()
            connection.settimeout(30)
            with connection, connection.makefile("rwb") as file:
                assert file.read(10) == b"\0\0\0\6hidden"
                file.write(b"\0\0\0\2ok")
                file.flush()
                assert int.from_bytes(file.read(4), "big") == process.pid
                file.write(b"work")
                file.flush()
                assert file.read() == b"work [] cwd"


def test_everything_else_is_pythons(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:], sys.executable)"
    told = subprocess.run(
        [quick_python(tmp_path), "-c", code, "a b", "c"], capture_output=True, text=True, check=True
    ).stdout
    assert told == f"['a b', 'c'] {sys.executable}\n"


def test_where_nothing_may_be_run_it_is_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert quick_python(tmp_path) == sys.executable
