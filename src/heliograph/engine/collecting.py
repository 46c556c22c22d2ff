"""How often Python looks for cycles of garbage in a process that handles records one by one."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Records make no cycles, but so many objects that looking for them took a third of the time."""
    gc.set_threshold(50_000, 20, 100)
