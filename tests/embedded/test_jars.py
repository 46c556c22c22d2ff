"""Jars are fetched once, checked, and never half."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from heliograph.embedded.jars import (
    REPOSITORY_VARIABLE,
    Jar,
    cache_folder,
    fetch_into,
    kafka_version,
    locked_jars,
    parse_lock,
)
from heliograph.errors import DownloadFailed

_FETCH = """
import sys
from pathlib import Path
from heliograph.embedded.jars import fetch_into, parse_lock
fetch_into(Path(sys.argv[1]), parse_lock(sys.argv[2]))
"""


@dataclass
class Repository:
    """A Maven repository on this machine: what it holds and what it was asked for."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)

    def publish(self, name: str) -> Jar:
        """Add a small jar."""
        content = _jar_content(name)
        self.files[f"/org/example/{name}/1.0/{name}-1.0.jar"] = content
        return Jar("org.example", name, "1.0", hashlib.sha256(content).hexdigest())

    def downloads(self, jar: Jar) -> int:
        """How often a jar was asked for."""
        return self.requests[f"/org/example/{jar.name}/{jar.version}/{jar.file_name}"]


def _jar_content(name: str) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        archive.writestr(ZipInfo("name.txt"), name)  # with a fixed date
    return content.getvalue()


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A repository that downloads go to."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = held.files.get(self.path)
            held.requests[self.path] += 1
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def do_HEAD(self) -> None:
            content = held.files.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held = Repository(f"http://127.0.0.1:{server.server_port}/")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv(REPOSITORY_VARIABLE, held.url)
        yield held
        server.shutdown()


def names_in(folder: Path) -> set[str]:
    """The jars of a folder."""
    return {file.name for file in folder.glob("*.jar")}


def test_the_lock_names_every_jar_once_with_its_checksum() -> None:
    jars = locked_jars()

    assert len({jar.file_name for jar in jars}) == len(jars) > 50
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert {"kafka_2.13", "connect-mirror", "kafka-clients"} <= {jar.name for jar in jars}


def test_all_jars_of_kafka_have_one_version() -> None:
    versions = {jar.version for jar in locked_jars() if jar.organisation == "org.apache.kafka"}

    assert versions == {kafka_version()}


def test_a_lock_is_parsed_without_its_comments() -> None:
    text = "# made by hand\n\norg.example:thing:1.2 abc\n"

    assert parse_lock(text) == (Jar("org.example", "thing", "1.2", "abc"),)
    assert parse_lock(text)[0].file_name == "thing-1.2.jar"


def test_the_cache_is_where_the_system_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "heliograph"

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "heliograph"


def test_missing_jars_are_fetched_with_progress_and_the_others_left(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish(name) for name in ("one", "two", "three")]
    (tmp_path / "two-1.0.jar").write_bytes(b"already here")
    steps: list[tuple[int, int]] = []

    fetch_into(tmp_path, jars, lambda done, total: steps.append((done, total)))

    assert names_in(tmp_path) == {"one-1.0.jar", "two-1.0.jar", "three-1.0.jar"}
    assert (tmp_path / "one-1.0.jar").read_bytes() == _jar_content("one")
    assert (tmp_path / "two-1.0.jar").read_bytes() == b"already here"
    assert steps == [(0, 2), (1, 2), (2, 2)]


def test_a_complete_folder_asks_nobody(repository: Repository, tmp_path: Path) -> None:
    jar = repository.publish("one")
    (tmp_path / jar.file_name).write_bytes(b"already here")

    fetch_into(tmp_path, [jar], lambda *_: pytest.fail("nothing was to be done"))

    assert not repository.requests


def test_a_jar_with_another_checksum_is_refused_and_nothing_is_kept(repository: Repository, tmp_path: Path) -> None:
    honest, tampered = repository.publish("one"), repository.publish("two")
    repository.files["/org/example/two/1.0/two-1.0.jar"] = _jar_content("something else")

    with pytest.raises(DownloadFailed, match=r"two-1.0.jar .* SHA-256"):
        fetch_into(tmp_path, [honest, tampered])

    assert names_in(tmp_path) == set()


def test_a_jar_that_nobody_has_is_named(repository: Repository, tmp_path: Path) -> None:
    missing = replace(repository.publish("one"), name="nowhere")

    with pytest.raises(
        DownloadFailed, match=r"could not download org.example:nowhere:1.0: .*; check the network"
    ) as failure:
        fetch_into(tmp_path, [missing])

    assert failure.value.exit_code == 3
    assert names_in(tmp_path) == set()


def test_two_processes_at_once_fetch_each_jar_once(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish(name) for name in ("one", "two")]
    lock = "".join(f"{jar.organisation}:{jar.name}:{jar.version} {jar.sha256}\n" for jar in jars)
    command = [sys.executable, "-c", _FETCH, str(tmp_path / "jars"), lock]

    fetchers = [subprocess.Popen(command) for _ in range(2)]

    assert [fetcher.wait(60) for fetcher in fetchers] == [0, 0]
    assert names_in(tmp_path / "jars") == {"one-1.0.jar", "two-1.0.jar"}
    assert [repository.downloads(jar) for jar in jars] == [1, 1]
