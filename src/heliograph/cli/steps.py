"""Shows the steps of an operation or a drill, while they are done and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from heliograph.cli import output
from heliograph.cli.output import Format

if TYPE_CHECKING:
    from rich.table import Table

    from heliograph.recovery.operation import StepReport

_MARKS = {"waiting": "·", "running": "…", "done": "✓", "failed": "✗", "put back": "↶"}


class Work(Protocol):
    """What has steps: it tells of every change, with a report that lists them."""

    on_change: Callable[[Any], None]


@contextmanager
def steps_shown(work: Work, output_format: Format) -> Iterator[None]:
    """Show steps while they are done: as a table that moves on a terminal, and else line by line."""
    from heliograph.cli.logs import configure_logs

    configure_logs(False)
    console = output.message_console()
    if not console.is_terminal or output_format is not Format.TABLE:
        lines = _Lines()
        work.on_change = lambda report: lines.show(report.steps)
        yield
        return
    from rich.live import Live

    with Live(console=console, refresh_per_second=8, transient=True) as live:  # the result shows them once more
        work.on_change = lambda report: live.update(steps_view(report.steps))
        yield


class _Lines:
    """One line for every step that has changed its state."""

    def __init__(self) -> None:
        self._shown: dict[str, object] = {}

    def show(self, steps: Sequence[StepReport]) -> None:
        """Print what is new."""
        for step in steps:
            if self._shown.get(step.name) is step.state or step.state.value == "waiting":
                continue
            self._shown[step.name] = step.state
            text = f": {step.text}" if step.text else ""
            output.message_console().print(f"{step.name} {step.state.value}{text}", markup=False)


def steps_view(steps: Sequence[StepReport]) -> Table:
    """One row a step: how far, what it says, its hooks, how long it took."""
    table = output.table("", "step", "", "seconds")
    for step in steps:
        seconds = f"{step.seconds:.1f}" if step.seconds else ""
        lines = "\n".join([step.text, *step.hooks]).strip()
        output.add_row(table, _MARKS[step.state.value], step.title, lines, seconds)
    return table
