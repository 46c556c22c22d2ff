"""A mirror that runs as the documentation says, and whoever types commands beside it."""

from __future__ import annotations

import io
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from heliograph.cli.main import main
from heliograph.config.mirror_config import load
from heliograph.control.status import Health, read_status
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from tests.chaos.stage import ends, write_settings
from tests.conformance.site import Site
from tests.docs.pages import Command
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

PARTITIONS = 4
RECORDS = 1_600  # of each partition: pages speak of offset 1500
PASSWORD = "correct horse battery staple"

_ENTRY_POINTS = {
    "connect-mirror-maker": ("-c", "from heliograph.cli.main import connect_mirror_maker; connect_mirror_maker()"),
    "heliograph": ("-m", "heliograph"),
}
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


@dataclass(frozen=True)
class Done:
    """How a command has ended, and all that it printed."""

    code: int
    printed: str
    told: str = ""  # on standard error


@dataclass
class LiveStage:
    """One flow with a topic and a group, which stand for those that the pages speak of."""

    file: Path
    clusters: tuple[EmbeddedCluster, EmbeddedCluster]
    source: str
    target: str
    topic: str
    group: str
    port: int
    is_open: bool = field(default=True)

    @property
    def flow(self) -> str:
        """The only flow."""
        return f"{self.source}->{self.target}"

    @property
    def copy(self) -> str:
        """The topic on the target."""
        return f"{self.source}.{self.topic}"

    def run(self, command: Command) -> Done:
        """Run a command of a page, with names of this stage instead of the page's own."""
        if command.program == "curl":
            # An answer with an HTTP error is a failure here.
            done = self.shell(f"{command.text} --fail-with-body")
            return Done(done.returncode, done.stdout, done.stderr)
        words = self.words(command)[1:]
        if words[0] in _MOVES:
            return self._move(words)
        return self._until_it_has_spoken(words) if _is_endless(words) else _call(words)

    def words(self, command: Command) -> list[str]:
        """A command of a page with names of this stage."""
        return Command(command.page, command.line, self.translated(command.text)).words

    def shell(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run a line in a shell, with names of this stage, to its end."""
        command = ["bash", "-c", f"set -o pipefail; {self.translated(text)}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)

    def filled(self, text: str) -> str:
        """A text with names of this stage for those in braces."""
        names = {
            "flow": self.flow, "source": self.source, "target": self.target, "topic": self.topic, "group": self.group,
            "copy": self.copy, "file": str(self.file),
        }  # fmt: skip
        return re.sub(r"\{(\w+)\}", lambda found: names[found[1]], text)

    def connector_state(self) -> str:
        """What Kafka Connect's API says of the source connector."""
        answer = httpx.get(f"http://127.0.0.1:{self.port}/connectors/MirrorSourceConnector/status", timeout=30)
        return str(answer.json()["connector"]["state"])

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

    def expect_mirroring(self) -> None:
        """What is written now arrives."""
        site = Site(self.source, self.clusters[0].bootstrap_servers)
        before = ends(self.clusters[1], self.copy)
        site.produce(self.topic, 20, range(PARTITIONS))
        wait_until(self.is_up_to_date, "a target that has all", _PATIENCE, 0.2)
        after = ends(self.clusters[1], self.copy)
        assert all(after[where] >= before.get(where, 0) + 20 for where in after), (before, after)
        assert len(after) == PARTITIONS

    def translated(self, text: str) -> str:
        """A text of a page with names of this stage."""
        text = re.sub(r"\b\w+->\w+", self.flow, text)
        text = re.sub(r"(?<=--clusters )\w+", self.target, text)
        text = text.replace('"cluster": "A"', f'"cluster": "{self.source}"').replace(":8083", f":{self.port}")
        text = re.sub(r"\borders\b", self.topic, text)
        text = re.sub(r"\bbilling\b", self.group, text)
        return re.sub(r"\bmm2\.properties\b", str(self.file), text)

    def _move(self, words: list[str]) -> Done:
        """A move, of somebody who says yes and does not wait long for producers that never were."""
        is_back = words[0] == "failback" or "--undo" in words
        if is_back and self.is_open:
            assert self._move(["switchover", str(self.file)]).code == 0
        if not is_back and not self.is_open:
            assert self._move(["switchover", str(self.file), "--undo"]).code == 0
        if not is_back:
            wait_until(self.is_up_to_date, "a target that has all", _PATIENCE, 0.2)
        more = ["--quiet", "0.5"] if words[0] in _WAITING_FOR_PRODUCERS else []
        if "--dry-run" in words:
            return _call([*words, *more])
        done = _call([*words, *more, *([] if "--yes" in words else ["--yes"])])
        self.is_open = is_back
        return done

    def _until_it_has_spoken(self, words: list[str]) -> Done:
        """Of a command that goes on: what it prints until it speaks of the flow or its topic; then Ctrl-C."""
        command = [sys.executable, "-m", "heliograph", *words]
        lines: list[str] = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                lines.append(line)
                if self.flow in line or self.topic in line:
                    break
            process.send_signal(signal.SIGINT)
            code = process.wait(_PATIENCE)
            told = process.stderr.read()
        return Done(0 if code == _CTRL_C else code, "".join(lines), told)


def _is_endless(words: list[str]) -> bool:
    return "--watch" in words or (words[0] == "monitor" and "--once" not in words)


def _call(words: list[str]) -> Done:
    """Run heliograph within this process: a new interpreter for each command would take most of the time."""
    printed, told = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(told):
        patch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
        with pytest.raises(SystemExit) as ended:
            main(words)
    return Done(int(ended.value.code or 0), printed.getvalue(), told.getvalue())


@contextmanager
def live_stage(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], folder: Path, command: Command
) -> Iterator[LiveStage]:
    """Records, a group, and the mirror that a page's command starts; it has caught up, and must end well in the end."""
    a, b = fresh_name("a").replace("-", ""), fresh_name("b").replace("-", "")
    (port,) = free_ports(1)
    stage = LiveStage(folder / "mm2.properties", clusters, a, b, fresh_name("docs"), fresh_name("readers"), port)
    source, target = clusters
    _fill(stage, source)
    own = {"topics": stage.topic, "groups": stage.group, "listeners": f"http://127.0.0.1:{port}"}
    write_settings(stage.file, {a: source, b: target}, [stage.flow], {**_OPTIONS, **own})
    (folder / "ops.token").write_text("a token\n")
    (folder / "order.json").write_text('{"topic": "orders", "value": {"id": 1}}')
    with mirroring(stage.words(command), folder / "mirror.log"):
        wait_until(lambda: stage.is_ready() and stage.is_up_to_date(), "a mirror that has caught up", _PATIENCE, 0.2)
        yield stage


def _fill(stage: LiveStage, source: EmbeddedCluster) -> None:
    site = Site(stage.source, source.bootstrap_servers)
    create_topic(site.servers, stage.topic, PARTITIONS)
    site.produce(stage.topic, RECORDS, range(PARTITIONS))
    site.commit(stage.group, stage.topic, dict.fromkeys(range(PARTITIONS), 1_200))


@contextmanager
def mirroring(words: Sequence[str], log: Path) -> Iterator[None]:
    """A command that mirrors until it is told to end, and ends well."""
    command = [sys.executable, *_ENTRY_POINTS[words[0]], *words[1:]]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield
            process.terminate()
            assert process.wait(_PATIENCE) == 0, f"{shlex.join(command)}\n{log.read_text(errors='replace')[-3000:]}"
        finally:
            process.kill()
