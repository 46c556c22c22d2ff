"""Real MirrorMaker 2 as a child process: what Heliograph is compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import javaproperties

from heliograph.embedded.child import ChildProcess
from heliograph.embedded.jvm import Jvm
from heliograph.errors import ProcessFailed
from heliograph.java import QUICK_START

_MAIN_CLASS = "org.apache.kafka.connect.mirror.MirrorMaker"
_ENABLED_FLOW = re.compile(r".+->(?P<target>.+)\.enabled")
_CONNECTOR_STARTED = re.compile(r"Started MirrorSourceConnector with (\d+) topic-partitions")
_TASK_BEGUN = re.compile(r"clientId=(.+?), .*Starting task MirrorSourceConnector-")
_TASK_RUNNING = re.compile(r"\{id=MirrorSourceConnector-\d+\} Source task finished initialization and start")
_STARTED = "Kafka MirrorMaker started"
_STOPPED = "Kafka MirrorMaker stopped."


class MirrorMaker2:
    """MirrorMaker 2 in its dedicated mode, with the files of one folder: properties and log.

    `clusters` are the targets it serves, as in its option `--clusters`; all of them by default.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | Path,
        folder: Path,
        clusters: Sequence[str] = (),
        heap: str = "512m",
        tuning: Sequence[str] = QUICK_START,
        jvm_options: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self._settings = _read(properties) if isinstance(properties, Path) else dict(properties)
        self._clusters = tuple(clusters)
        self._heap = heap
        self._tuning = tuple(tuning)
        self._jvm_options = tuple(jvm_options)
        self._jvm = Jvm.prepare()
        self._process: ChildProcess | None = None

    @property
    def process(self) -> ChildProcess:
        """The running process."""
        assert self._process is not None, "MirrorMaker 2 was never started"
        return self._process

    @property
    def log(self) -> Path:
        """What MirrorMaker 2 wrote, over all its starts in this folder."""
        return self.folder / "mirrormaker2.log"

    def start(self) -> None:
        """Start the process; returns at once, before anything is mirrored."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "mm2.properties"
        file.write_text(javaproperties.dumps(self._settings, timestamp=False))
        arguments = [str(file), *(("--clusters", *self._clusters) if self._clusters else ())]
        command = self._jvm.command(
            self.folder, _MAIN_CLASS, *arguments, heap=self._heap, tuning=self._tuning, options=self._jvm_options
        )
        self._process = ChildProcess("MirrorMaker 2", command, self.log)

    def wait_until_ready(self, timeout: float = 90) -> None:
        """Wait until every enabled flow has read its list of topics and all its tasks are running."""
        flows = _enabled_flows(self._settings, self._clusters)
        self.process.wait_until(lambda: StartProgress.of(self.process.output()).is_ready(flows), timeout)

    def stop(self, timeout: float = 60) -> None:
        """End it cleanly, with its positions flushed; fails when it had to be ended by force."""
        if self._process is None or not self._process.is_running:
            return
        self._process.stop(timeout)
        if _STOPPED not in self._process.output():
            raise ProcessFailed(f"MirrorMaker 2 did not stop cleanly within {timeout:.0f} s, see {self.log}")

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.process.kill()

    def __enter__(self) -> MirrorMaker2:
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@dataclass(frozen=True)
class StartProgress:
    """How far MirrorMaker 2 has come in starting, as its log tells."""

    is_started: bool
    connectors: int
    with_work: int
    flows_with_tasks: int
    tasks_begun: int
    tasks_running: int

    @classmethod
    def of(cls, log: str) -> StartProgress:
        """Read the log of one start."""
        partitions = [int(count) for count in _CONNECTOR_STARTED.findall(log)]
        begun = _TASK_BEGUN.findall(log)
        running = _TASK_RUNNING.findall(log)
        return cls(
            is_started=_STARTED in log,
            connectors=len(partitions),
            with_work=sum(count > 0 for count in partitions),
            flows_with_tasks=len(set(begun)),
            tasks_begun=len(begun),
            tasks_running=len(running),
        )

    def is_ready(self, flows: int) -> bool:
        """Whether so many flows mirror all that there is: a flow without topics has no task to wait for."""
        return (
            self.is_started
            and self.connectors >= flows
            and self.flows_with_tasks >= self.with_work
            and self.tasks_running >= self.tasks_begun
        )


def _read(file: Path) -> dict[str, str]:
    return dict(javaproperties.loads(file.read_text(encoding="utf-8")))


def _enabled_flows(settings: Mapping[str, str], clusters: Sequence[str]) -> int:
    matches = (_ENABLED_FLOW.fullmatch(key) for key, value in settings.items() if value.strip().lower() == "true")
    targets = [match["target"] for match in matches if match]
    return sum(not clusters or target in clusters for target in targets)
