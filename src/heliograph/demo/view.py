"""What the demo shows while it runs: topics, rates, lag and latency, twice a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_RATE_WINDOW_SECONDS = 5.0


@dataclass(frozen=True)
class TopicState:
    """One topic at one moment."""

    name: str
    remote_name: str
    written: int
    mirrored: int

    @property
    def lag(self) -> int:
        """How many records are not on the target yet."""
        return max(0, self.written - self.mirrored)


class Rate:
    """Change per second of a growing number, over the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def update(self, value: int, now: float) -> float:
        """Take a new value in; the rate now."""
        self._samples.append((now, value))
        while now - self._samples[0][0] > _RATE_WINDOW_SECONDS:
            self._samples.popleft()
        began, first = self._samples[0]
        return (value - first) / (now - began) if now > began else 0.0


class DemoView:
    """Draws the state of the demo."""

    def __init__(self, page: str, addresses: Mapping[str, str], folder: str) -> None:
        self._page = page
        self._addresses = addresses
        self._folder = folder
        self._rates: dict[str, Rate] = {}
        self._began = time.monotonic()

    def draw(self, topics: list[TopicState], latency_ms: int, is_flowing: bool) -> RenderableType:
        """The picture of this moment."""
        table = Table(box=None, pad_edge=False)
        for column in ("topic on primary", "on backup", "records", "mirrored", "per second", "lag"):
            table.add_column(column, justify="left" if "on" in column.split() else "right")
        for topic in topics:
            rate = self._rates.setdefault(topic.name, Rate()).update(topic.mirrored, time.monotonic())
            numbers = (f"{topic.written:,}", f"{topic.mirrored:,}", f"{rate:,.0f}", f"{topic.lag:,}")
            table.add_row(topic.name, topic.remote_name, *numbers)
        state = f"latency {latency_ms} ms" if is_flowing else "the mirror is starting (Spark takes a few seconds)"
        elapsed = time.monotonic() - self._began
        addresses = "   ".join(f"{alias} {address}" for alias, address in self._addresses.items())
        page = Text.assemble("web page: ", (self._page, f"bold link {self._page}"))
        footer = Text(f"{addresses}\nfiles and logs: {self._folder}\nCtrl-C ends everything", style="dim")
        title = f"Heliograph demo · primary → backup · {elapsed:.0f} s · {state}"
        return Panel(Group(table, Text(), page, footer), title=title, title_align="left")
