"""A reader of the README: types its commands in a folder where `./heliograph` is the installed command."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.chaos.stage import PATIENCE_SECONDS, ends, write_settings
from tests.checker.stock_reader import read_committed
from tests.package.environment import Environment, outside
from tests.recovery.move_stage import access
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

_RECORDS = 1600  # the README looks at the one at offset 1500
_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
}
_COMMAND_SECONDS = 60


@dataclass(frozen=True)
class Names:
    """What this reader has for the names in the README."""

    source: str
    target: str
    topic: str
    rest_port: int
    alert_port: int

    def put_into(self, text: str) -> str:
        """The same text with this reader's names."""
        ours = {
            "primary": self.source,
            "backup": self.target,
            "dr": self.target,
            "orders": self.topic,
            "8083": str(self.rest_port),
            "9093": str(self.alert_port),
        }
        return re.sub(rf"\b({'|'.join(ours)})\b", lambda found: ours[found[0]], text)


class Tour:
    """Two clusters, a topic with a group on the first, a file, and the commands that are typed beside it."""

    def __init__(
        self,
        environment: Environment,
        clusters: tuple[EmbeddedCluster, EmbeddedCluster],
        folder: Path,
        alert_port: int,
    ) -> None:
        self._source, self._target = clusters
        self._folder = folder
        topic = create_topic(self._source.bootstrap_servers, fresh_name("toured"))
        self.names = Names(fresh_name("here"), fresh_name("there"), topic, free_ports(1)[0], alert_port)
        self._group = fresh_name("readers")
        self._file = folder / "mm2.properties"
        self._write_file()
        self._command = folder / "heliograph"
        self._command.symlink_to(environment.heliograph)
        self._written = 0
        self.write_records(_RECORDS)
        with Groups(access(self._source)) as groups:
            groups.commit({self._group: {TopicPartition(topic, 0): Committed(7, "")}})

    def write_records(self, count: int = 10) -> None:
        """More records on the source, of this moment."""
        values = [{"order": self._written + number, "email": "ann@example.com"} for number in range(count)]
        now = time.time_ns() // 1_000_000
        records = [Record(number, now, None, json.dumps(value).encode()) for number, value in enumerate(values)]
        where = TopicPartition(self.names.topic, 0)
        raw.append(self._source.bootstrap_servers, where, [raw.batch_of(records)])
        self._written += count

    def add_to_file(self, *lines: str) -> None:
        """More lines for the file."""
        with self._file.open("a") as file:
            file.writelines(f"{self.names.put_into(line)}\n" for line in lines)

    def shows(self, line: str, text: str, codes: Sequence[int] = (0,)) -> None:
        """The command ends with one of the codes and prints the text."""
        command = self.names.put_into(line)
        done = subprocess.run(
            ["bash", "-c", command], cwd=self._folder, env=outside(), capture_output=True, text=True,
            timeout=_COMMAND_SECONDS, check=False,
        )  # fmt: skip
        story = f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.returncode in codes, story
        assert self.names.put_into(text) in done.stdout, story
        assert "Traceback" not in done.stderr, story

    def shows_until_stopped(self, line: str, text: str, codes: Sequence[int] = (0,)) -> None:
        """The command prints the text, goes on, and ends with one of the codes after Ctrl-C."""
        wanted = self.names.put_into(text)
        with self._started(line) as (process, log):
            wait_until(lambda: wanted in log.read_text(), f"{wanted} in what {line} prints", _COMMAND_SECONDS)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(_COMMAND_SECONDS) in codes, log.read_text()
            assert "Traceback" not in log.read_text()

    @contextmanager
    def mirroring(self, line: str) -> Iterator[None]:
        """The command mirrors what is written now, and ends in good order when it is told to."""
        self.write_records()
        with self._started(line) as (process, log):
            wait_until(self._is_level, f"all records on the target: {log}", PATIENCE_SECONDS, 0.5)
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(_COMMAND_SECONDS) == 0, log.read_text()

    def await_state(self, state: str) -> None:
        """Wait until the REST server tells that the connector is in this state."""
        url = f"http://127.0.0.1:{self.names.rest_port}/connectors/MirrorSourceConnector/status"

        def is_so() -> bool:
            try:
                found = httpx.get(url, trust_env=False, timeout=30).json()
            except httpx.TransportError:
                return False
            return bool(found.get("connector", {}).get("state") == state)

        wait_until(is_so, f"a connector that is {state}", PATIENCE_SECONDS)

    def await_calm(self) -> None:
        """Wait until the mirror runs, and the target has all."""
        self.await_state("RUNNING")
        wait_until(self._is_level, "all records on the target", PATIENCE_SECONDS, 0.5)

    def _write_file(self) -> None:
        names = self.names
        options = {
            **_OPTIONS,
            "topics": names.topic,
            "groups": self._group,
            "listeners": f"http://127.0.0.1:{names.rest_port}",
        }
        clusters = {names.source: self._source, names.target: self._target}
        write_settings(self._file, clusters, [f"{names.source}->{names.target}"], options)

    def _is_level(self) -> bool:
        """Counted as consumers do: ends of partitions move with transactions too."""
        copy = f"{self.names.source}.{self.names.topic}"
        if not ends(self._target, copy):
            return False
        return len(list(read_committed(self._target.bootstrap_servers, TopicPartition(copy, 0)))) == self._written

    @contextmanager
    def _started(self, line: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        log = self._folder / f"{fresh_name('command')}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {self.names.put_into(line)}"], cwd=self._folder, env=outside(), stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            yield process, log
        finally:
            process.kill()
            process.wait()
