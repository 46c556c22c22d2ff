"""`kafka-mirror-maker` takes over from MirrorMaker 1: begins where its group stood, and is exact from there on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.model import TopicPartition
from tests.checker.stock_reader import read_committed
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

PATIENCE_SECONDS = 120


class Takeover:
    """A topic of two partitions, and the files of a MirrorMaker 1 that has mirrored some of the first."""

    def __init__(self, source: str, target: str, folder: Path) -> None:
        self._source, self._target, self._folder = source, target, folder
        self.group = fresh_name("mirror-maker-1")
        topic = create_topic(source, fresh_name("mm1-orders"), 2)
        self.begun, self.new = TopicPartition(topic, 0), TopicPartition(topic, 1)
        (folder / "c.properties").write_text(f"bootstrap.servers={source}\ngroup.id={self.group}\n")
        (folder / "p.properties").write_text(f"bootstrap.servers={target}\nacks=all\n")

    def feed(self, numbers: range) -> None:
        """Records with these numbers in both partitions of the source."""
        for where in (self.begun, self.new):
            raw.append(self._source, where, [raw.batch_of(numbered(len(numbers), numbers.start))])

    def commit(self, offset: int) -> None:
        """What MirrorMaker 1 had done of the first partition."""
        with self._groups() as groups:
            groups.commit({self.group: {self.begun: Committed(offset)}})

    def committed(self) -> dict[TopicPartition, int]:
        """Where the group stands."""
        with self._groups() as groups:
            return {where: item.offset for where, item in groups.committed([self.group])[self.group].items()}

    def copied(self, where: TopicPartition) -> list[int]:
        """The numbers of the records under the same name on the target."""
        return [int(dict(item.content.headers)["n"] or b"") for item in read_committed(self._target, where)]

    @contextmanager
    def mirror(self) -> Iterator[subprocess.Popen[bytes]]:
        """The command at work; nothing of it is left at the end."""
        files = ("--consumer.config", self._folder / "c.properties", "--producer.config", self._folder / "p.properties")
        flags = ("--whitelist", self.begun.topic, "--offset.commit.interval.ms", "1000", "--new.consumer")
        command = [sys.executable, "-m", "heliograph", "kafka-mirror-maker", *map(str, files), *flags]
        environment = {**os.environ, "TMPDIR": str(self._folder)}
        with open(self._folder / "log", "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            yield process
        finally:
            with suppress(psutil.NoSuchProcess):
                for part in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        part.kill()
            process.kill()
            process.wait()

    def log(self) -> str:
        """What the mirrors have written."""
        return (self._folder / "log").read_text(errors="replace")

    def _groups(self) -> Groups:
        return Groups(Access("source", self._source.split(",")))


@pytest.mark.kafka
@pytest.mark.spark
def test_it_begins_where_the_group_stood_and_goes_on_exactly(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    source, target = (cluster.bootstrap_servers for cluster in cluster_pair)
    takeover = Takeover(source, target, tmp_path)
    takeover.feed(range(10))
    takeover.commit(4)
    with takeover.mirror() as process:
        _await(takeover, 10)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert takeover.copied(takeover.begun) == list(range(4, 10))
    assert takeover.copied(takeover.new) == []

    takeover.feed(range(10, 15))
    with takeover.mirror():
        _await(takeover, 15)
    assert takeover.copied(takeover.begun) == list(range(4, 15))
    assert takeover.copied(takeover.new) == list(range(10, 15))
    assert f"group {takeover.group} tells where to begin" in takeover.log()


def _await(takeover: Takeover, end: int) -> None:
    """Wait until all is safe on the target up to an offset, and the group has been told."""
    both = {takeover.begun: end, takeover.new: end}
    try:
        wait_until(lambda: takeover.committed() == both, f"the group at {end}", PATIENCE_SECONDS, 0.2)
    except AssertionError as late:
        raise AssertionError(f"{late}; {takeover.committed()}\n{takeover.log()[-3000:]}") from None
