"""Those who ask a running mirror about conflicts do not wait for each other."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.conflicts.desk import ConflictDesk
from heliograph.control.conflicts.watch import ConflictWatch
from heliograph.control.running_mirror import RunningMirror

_FILE = """clusters = eu, us
eu.bootstrap.servers = 127.0.0.1:1
us.bootstrap.servers = 127.0.0.1:2
eu->us.enabled = true
us->eu.enabled = true
conflicts.topics = orders
"""


@pytest.fixture
def desk(tmp_path: Path) -> ConflictDesk:
    """Of a mirror whose brokers do not exist."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return ConflictDesk(RunningMirror(load(file)))


def test_what_was_just_read_is_not_read_again(desk: ConflictDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConflictWatch, "look", lambda watch, limit: [watch])
    first = desk.look()
    assert desk.look() is first
    desk._good_until = 0
    second = desk.look()
    assert second is not first
    assert second[0] is first[0]  # goes on where it was


def test_while_one_reads_others_get_what_is_known(desk: ConflictDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConflictWatch, "look", lambda watch, limit: [object()])
    known = desk.look()
    desk._good_until = 0
    is_reading, may_end = threading.Event(), threading.Event()

    def slow(watch: ConflictWatch, limit: int) -> list[object]:
        is_reading.set()
        assert may_end.wait(20)
        return []

    monkeypatch.setattr(ConflictWatch, "look", slow)
    reader = threading.Thread(target=desk.look)
    reader.start()
    assert is_reading.wait(20)
    assert desk.look() is known
    may_end.set()
    reader.join(20)
    assert desk.look() == []
