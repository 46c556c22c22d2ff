"""Where a drill takes place: on the clusters of a file, or on clusters of its own that are really killed."""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.config.mirror_config import MirrorConfig
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import ClusterError
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Change, Groups
from heliograph.kafka.topics import Status
from heliograph.recovery.drill.config import (
    DrillConfig,
    carriers,
    embedded_entries,
    rehearsal_entries,
    write_config,
)
from heliograph.recovery.drill.load import CanaryLoad
from heliograph.recovery.drill.mirror import DrillMirror
from heliograph.recovery.drill.names import DrillNames

_PATIENCE_SECONDS = 30.0


@dataclass
class CleanUp:
    """What was deleted, and what could not be."""

    deleted: list[str]
    left: list[str]


class Scene(ABC):
    """Two clusters, a configuration for the drill, and a way to lose the source."""

    kind: str
    drill: DrillConfig
    folder: Path  # for the drill's files; gone after it
    digest_of: Path
    file_name: str  # of that, as the report shows it

    @property
    @abstractmethod
    def config_after_loss(self) -> MirrorConfig:
        """The configuration that the failover works with."""

    @abstractmethod
    def problems(self) -> list[str]:
        """What stands in the way of a drill here."""

    def notes(self) -> Iterator[str]:
        """What somebody should know who reads the report."""
        if self.drill.flow.get("emit.checkpoints.enabled") is not True:
            yield "the file turns checkpoints off: a failover cannot know where groups were"
        yield "transactional ids of the drill's mirror stay known to the target until they expire there"

    @abstractmethod
    def lose(self, mirror: DrillMirror, load: CanaryLoad) -> str:
        """The source is gone from when this comes back; says how."""

    @abstractmethod
    def bring_back(self) -> str:
        """The source is there again; says how."""

    def clean_up(self) -> CleanUp:
        """Delete everything with the drill's mark, on both clusters."""
        done = CleanUp([], [])
        for cluster in self.drill.config.clusters.values():
            _Sweep(access_for(cluster, "admin"), self.drill.names, done).run()
        return done


class Rehearsal(Scene):
    """On the clusters of a file, which stay as they are: the drill only behaves as if the source were gone."""

    kind = "rehearsal"

    def __init__(self, production: MirrorConfig, names: DrillNames, folder: Path) -> None:
        source, self.file_name = Path(production.file), production.file
        self.folder = folder
        self.drill = write_config(rehearsal_entries(source, names), names, folder)
        self.digest_of = source if source.exists() else self.drill.file
        self._production = production

    @property
    def config_after_loss(self) -> MirrorConfig:
        """One in which the source has an address where nobody answers."""
        return self.drill.as_if_lost

    def problems(self) -> list[str]:
        """Flows of production that would carry the canary topics on."""
        return [
            f"{name} would mirror the drill's own topics: add .*\\\\.replica to its topics.exclude"
            for name in carriers(self._production, self.drill)
        ]

    def notes(self) -> Iterator[str]:
        """Also where the drill is milder than the file."""
        yield from super().notes()
        flow = self._production.flow(f"{self.drill.names.source}->{self.drill.names.target}")
        assert flow is not None
        seconds = flow.number("emit.checkpoints.interval.seconds")
        yield (
            f"the drill writes checkpoints every second, the file asks for every {seconds} s: in an emergency groups "
            "read again what they have read in that time"
        )
        if flow.get("transforms"):
            yield "the file's transforms are left out of the drill"

    def lose(self, mirror: DrillMirror, load: CanaryLoad) -> str:
        """Load and mirror end together, in mid-flight."""
        load.cut()
        mirror.kill()
        return f"the mirror was killed, and {self.drill.names.source} is not asked any more"

    def bring_back(self) -> str:
        """It was never gone."""
        return f"{self.drill.names.source} is asked again"


class ForReal(Scene):
    """On clusters of this machine, of which the source is killed."""

    kind = "for real"

    def __init__(
        self, file: Path | None, names: DrillNames, clusters: dict[str, EmbeddedCluster], folder: Path
    ) -> None:
        """`file`: whose replication policy counts; `clusters`: by the aliases of production."""
        servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
        self.folder = folder
        self.drill = write_config(embedded_entries(file, names, servers), names, folder)
        self.digest_of = file or self.drill.file
        self.file_name = str(file) if file else "made by the drill"
        self._source = clusters[names.source]

    @property
    def config_after_loss(self) -> MirrorConfig:
        """The same: its source really does not answer."""
        return self.drill.config

    def problems(self) -> list[str]:
        """None: nobody else is there."""
        return []

    def lose(self, mirror: DrillMirror, load: CanaryLoad) -> str:
        """All brokers are killed; load and mirror are left to notice it."""
        pids = [broker.process.pid for broker in self._source.nodes]
        for node in self._source.nodes:
            node.process.kill()
        return f"kill -9 of every process of {self._source.alias} ({', '.join(map(str, pids))})"

    def bring_back(self) -> str:
        """Start them again, on the same data."""
        self._source.begin_start()
        self._source.wait_until_ready()
        return f"{self._source.alias} was started again on its data"

    def clean_up(self) -> CleanUp:
        """Nothing to do: both clusters are there for the drill alone, and go with it."""
        return CleanUp([], [])


@contextmanager
def drill_folder() -> Iterator[Path]:
    """A folder for the files of one drill that nobody else can look into."""
    with tempfile.TemporaryDirectory(prefix="heliograph-drill-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class _Sweep:
    """Deletes the topics and groups of a drill on one cluster, and looks whether they are gone."""

    def __init__(self, access: Access, names: DrillNames, done: CleanUp) -> None:
        self._access = access
        self._names = names
        self._done = done

    def run(self) -> None:
        """Groups first: they are about the topics."""
        try:
            self._delete_groups()
            self._delete_topics()
        except ClusterError as error:
            self._done.left.append(f"{self._access.alias}: {error}")

    def _delete_groups(self) -> None:
        with Groups(self._access) as groups:
            names = self._names.ours(groups.list())
            for name, result in groups.delete(names).items():
                is_gone = result.change in (Change.DONE, Change.NOT_THERE)
                self._note(is_gone, f"group {name}", result.reason or result.change.value)

    def _delete_topics(self) -> None:
        with Admin(self._access) as admin:
            names = self._names.ours(admin.topics())
            for name, outcome in admin.delete_topics(names).items():
                self._note(outcome.status is not Status.REFUSED, f"topic {name}", outcome.reason)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            while (left := self._names.ours(admin.topics())) and time.monotonic() < deadline:
                time.sleep(0.1)
        self._done.left.extend(f"topic {name} on {self._access.alias}: is still there" for name in left)

    def _note(self, is_gone: bool, what: str, reason: str) -> None:
        if is_gone:
            self._done.deleted.append(f"{what} on {self._access.alias}")
        else:
            self._done.left.append(f"{what} on {self._access.alias}: {reason}")
