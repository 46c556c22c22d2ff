"""A mirror that runs as the documentation says, and whoever types commands beside it."""

from __future__ import annotations

import io
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from heliograph.cli.main import main
from heliograph.config.mirror_config import load
from heliograph.control.status import Health, read_status
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from tests.chaos.stage import write_settings
from tests.conformance.site import Site
from tests.docs.pages import Command
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

PARTITIONS = 4
RECORDS = 1_600  # of each partition: pages speak of offset 1500
PASSWORD = "correct horse battery staple"

_ENTRY_POINT = "from heliograph.cli.main import connect_mirror_maker; connect_mirror_maker()"
_PATIENCE = 120
_CTRL_C = 130
_MOVES = ("switchover", "failover", "failback")
_WAITING_FOR_PRODUCERS = ("switchover", "failback")
_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
}


@dataclass
class LiveStage:
    """One flow with a topic and a group, which stand for those that the pages speak of."""

    file: Path
    source: str
    target: str
    topic: str
    group: str
    port: int
    options: tuple[str, ...]  # of the command that runs the mirror
    is_open: bool = field(default=True)

    @property
    def flow(self) -> str:
        """The only flow."""
        return f"{self.source}->{self.target}"

    def run(self, command: Command) -> int:
        """Run a command of a page, with names of this stage instead of the page's own; returns its exit code."""
        if command.program == "curl":
            # An answer with an HTTP error is a failure here.
            return self.shell(f"{command.text} --fail-with-body").returncode
        words = Command(command.page, command.line, self._translated(command.text)).words[1:]
        if words[0] in _MOVES:
            return self._move(words)
        return self._until_it_has_spoken(words) if _is_endless(words) else _call(words)

    def shell(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a line in a shell, with names of this stage, to its end."""
        command = ["bash", "-c", f"set -o pipefail; {self._translated(text)}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)

    def is_ready(self) -> bool:
        """Whether the mirror says that the flow is its own."""
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def is_up_to_date(self) -> bool:
        """Whether the target has all."""
        (flow,) = (flow for flow in load(self.file).flows if flow.enabled)
        status = read_status(flow)
        return status.health is Health.UP_TO_DATE and len(status.partitions) == PARTITIONS

    def _translated(self, text: str) -> str:
        text = re.sub(r"\b\w+->\w+", self.flow, text)
        text = re.sub(r"(?<=--clusters )\w+", self.target, text)
        text = text.replace('"cluster": "A"', f'"cluster": "{self.source}"').replace(":8083", f":{self.port}")
        text = re.sub(r"\borders\b", self.topic, text)
        text = re.sub(r"\bbilling\b", self.group, text)
        return re.sub(r"\bmm2\.properties\b", str(self.file), text)

    def _move(self, words: list[str]) -> int:
        """A move, of somebody who says yes and does not wait long for producers that never were."""
        is_back = words[0] == "failback" or "--undo" in words
        if is_back and self.is_open:
            assert self._move(["switchover", str(self.file)]) == 0
        if not is_back and not self.is_open:
            assert self._move(["switchover", str(self.file), "--undo"]) == 0
        if not is_back:
            wait_until(self.is_up_to_date, "a target that has all", _PATIENCE, 0.2)
        more = ["--quiet", "0.5"] if words[0] in _WAITING_FOR_PRODUCERS else []
        if "--dry-run" in words:
            return _call([*words, *more])
        code = _call([*words, *more, *([] if "--yes" in words else ["--yes"])])
        self.is_open = is_back
        return code

    def _until_it_has_spoken(self, words: list[str]) -> int:
        """Of a command that goes on until Ctrl-C: its first line, then Ctrl-C."""
        command = [sys.executable, "-m", "heliograph", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            code = process.wait(_PATIENCE)
        return 0 if code == _CTRL_C else code


def _is_endless(words: list[str]) -> bool:
    return "--watch" in words or (words[0] == "monitor" and "--once" not in words)


def _call(words: list[str]) -> int:
    """Run heliograph within this process: a new interpreter for each command would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
        with pytest.raises(SystemExit) as ended:
            main(words)
    return int(ended.value.code or 0)


@contextmanager
def live_stage(source: EmbeddedCluster, target: EmbeddedCluster, folder: Path) -> Iterator[LiveStage]:
    """Records, a group, and the mirror, which has caught up; it must end well in the end."""
    a, b = fresh_name("a").replace("-", ""), fresh_name("b").replace("-", "")
    (port,) = free_ports(1)
    stage = LiveStage(
        folder / "mm2.properties", a, b, fresh_name("docs"), fresh_name("readers"), port, ("--rest", "--clusters", b)
    )
    _fill(stage, source)
    own = {"topics": stage.topic, "groups": stage.group, "listeners": f"http://127.0.0.1:{port}"}
    write_settings(stage.file, {a: source, b: target}, [stage.flow], {**_OPTIONS, **own})
    (folder / "ops.token").write_text("a token\n")
    (folder / "order.json").write_text('{"topic": "orders", "value": {"id": 1}}')
    with _mirror(stage, folder / "mirror.log"):
        wait_until(lambda: stage.is_ready() and stage.is_up_to_date(), "a mirror that has caught up", _PATIENCE, 0.2)
        yield stage


def _fill(stage: LiveStage, source: EmbeddedCluster) -> None:
    site = Site(stage.source, source.bootstrap_servers)
    create_topic(site.servers, stage.topic, PARTITIONS)
    site.produce(stage.topic, RECORDS, range(PARTITIONS))
    site.commit(stage.group, stage.topic, dict.fromkeys(range(PARTITIONS), 1_200))


@contextmanager
def _mirror(stage: LiveStage, log: Path) -> Iterator[None]:
    """MirrorMaker 2's command, which is `heliograph run` with the same arguments."""
    command = [sys.executable, "-c", _ENTRY_POINT, str(stage.file), *stage.options]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield
            process.terminate()
            assert process.wait(_PATIENCE) == 0, shlex.join(command)
        finally:
            process.kill()
