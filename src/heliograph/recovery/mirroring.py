"""Sees to it that a flow is mirrored while an operation waits: by whoever does so now, or else by this process."""

from __future__ import annotations

import time
from dataclasses import replace

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import StepFailed
from heliograph.recovery.books import read_books

ALIVE_SECONDS = 45.0  # a mirror writes something at least every thirty


class Mirroring:
    """Call `ensure` while waiting, and `close` at the end; several steps may share one."""

    def __init__(self, config: MirrorConfig, flow: FlowConfig, may_start: bool = True) -> None:
        """`may_start`: whether this process may mirror; one that mirrors already must not begin a second time."""
        others = tuple(item for item in (*config.flows, *config.others) if item.name != flow.name)
        self._config = replace(config, flows=(flow,), others=others)
        self._flow = flow
        self._may_start = may_start
        self._mirror: RunningMirror | None = None
        self._next_look = 0.0

    def close(self) -> None:
        """Stop mirroring, if this process does."""
        mirror, self._mirror = self._mirror, None
        if mirror is not None:
            mirror.stop()

    @property
    def is_ours(self) -> bool:
        """Whether this process mirrors."""
        return self._mirror is not None

    def ensure(self) -> None:
        """Begin to mirror if nobody else has for a while."""
        if self._mirror is None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + 5.0
            if seconds_since_life(self._flow) <= ALIVE_SECONDS:
                return
            if not self._may_start:
                raise StepFailed(f"nobody mirrors {self._flow.name}: start `heliograph run`")
            self._mirror = RunningMirror(self._config)
            self._mirror.start()


def seconds_since_life(flow: FlowConfig) -> float:
    """How long ago a mirror of this flow wrote something; very long if none ever did."""
    return time.time() - read_books(flow, must_have_run=False).tail.alive_ms / 1000
