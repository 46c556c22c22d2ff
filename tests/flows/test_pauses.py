"""How long a flow waits for a target that is down."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest

from heliograph.engine.mirror import Mirror
from heliograph.engine.settings import FlowSettings
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.access import Access
from heliograph.model import InternalTopics

_LONGEST_PAUSE = 10


class _Hurry(threading.Event):
    """Notes how long it should have waited, and is set after the eighth time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        if len(self.waits) == 8:
            self.set()
        return self.is_set()


class _OutOfReach:
    """A flow whose target is down."""

    name = "hub->far"
    was_taken_over = False
    settings = FlowSettings("hub->far", Access("hub", []), Access("far", []), InternalTopics(*"olmsjd"))

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.failed = self.failures.append

    def take_over(self) -> None:
        raise BrokerUnavailable("nobody answers")

    confirm_owner = take_over


def test_pauses_between_attempts_grow_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    flow, hurry = _OutOfReach(), _Hurry()
    mirror = Mirror([flow], {})
    try:
        mirror._stopping = hurry
        mirror._run(flow)
    finally:
        mirror._control.close()
    assert flow.failures == ["nobody answers"] * len(hurry.waits)
    assert hurry.waits == [1, 2, 4, 8, *[_LONGEST_PAUSE] * 4]
