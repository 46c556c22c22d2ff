"""Operations as our API shows them: those of this process, and those that only the journal tells of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heliograph.control.operations_desk import OperationRun
from heliograph.control.rest.operation_answers import (
    OperationAnswer,
    OperationShortAnswer,
    PlannedStepAnswer,
    PreviewAnswer,
    StepAnswer,
)
from heliograph.model import OperationNote
from heliograph.recovery.operation import PlannedStep, StepReport

UNFINISHED = "unfinished"
_STEP_STATES = {"began": UNFINISHED, "undone": "put back"}  # the others have the same words


def preview_view(operation: str, flow: str, obstacle: str, steps: Sequence[PlannedStep]) -> PreviewAnswer:
    """What would be done; an obstacle belongs to no step."""
    problems = [f"{step.name}: {problem}" for step in steps for problem in step.outlook.problems]
    problems = [obstacle, *problems] if obstacle else problems
    planned = [
        PlannedStepAnswer(
            step=step.name,
            title=step.title,
            would=step.outlook.text,
            problems=list(step.outlook.problems),
            hooks=list(step.hooks),
        )
        for step in steps
    ]
    return PreviewAnswer(
        operation=operation, flow=flow, can_begin=not problems, problems=problems, steps=planned, details={}
    )


def short(answer: OperationAnswer) -> OperationShortAnswer:
    """Without the steps."""
    return OperationShortAnswer(**answer.model_dump(exclude={"steps", "details"}))


def run_view(run: OperationRun, with_details: bool = True) -> OperationAnswer:
    """An operation that was begun here."""
    return OperationAnswer(
        id=run.id,
        operation=run.order.kind.value,
        flow=run.order.flow.name,
        is_undo=run.order.is_undo,
        state=run.state,
        error=run.error,
        began_at_ms=run.began_at_ms,
        seconds=run.seconds,
        by=run.by,
        is_here=True,
        steps=[_step(line) for line in run.report.steps],
        details=run.details() if with_details else {},
    )


def _step(line: StepReport) -> StepAnswer:
    return StepAnswer(
        step=line.name,
        title=line.title,
        state=line.state.value,
        text=line.text,
        seconds=line.seconds,
        hooks=list(line.hooks),
    )


def journal_views(flow: str, notes: Iterable[OperationNote]) -> list[OperationAnswer]:
    """Every operation that a flow's journal tells of."""
    by_name: dict[str, list[OperationNote]] = {}
    for note in notes:
        by_name.setdefault(note.id, []).append(note)
    return [_journal_view(flow, lines) for lines in by_name.values()]


def _journal_view(flow: str, lines: Sequence[OperationNote]) -> OperationAnswer:
    first, last = lines[0], lines[-1]
    steps = _journal_steps(lines)
    state = last.state if not last.step and last.state != "began" else UNFINISHED
    is_undo = state == "failed" and not any(step.state == "failed" for step in steps)  # nothing but an order ends so
    return OperationAnswer(
        id=first.id,
        operation=first.operation,
        flow=flow,
        is_undo=is_undo,
        state="put back" if is_undo else state,
        error=last.text if state == "failed" and not is_undo else "",
        began_at_ms=first.at_ms,
        seconds=(last.at_ms - first.at_ms) / 1000,
        by=first.by,
        is_here=False,
        steps=steps,
        details={},
    )


def _journal_steps(lines: Sequence[OperationNote]) -> list[StepAnswer]:
    """The last that is told of each step; one that failed stays failed when it is put back."""
    began: dict[str, int] = {}
    steps: dict[str, StepAnswer] = {}
    for note in lines:
        if not note.step:
            continue
        at = began.setdefault(note.step, note.at_ms) if note.state != "began" else note.at_ms
        began[note.step] = at
        if note.step in steps and steps[note.step].state == "failed" and note.state == "undone":
            continue
        steps[note.step] = StepAnswer(
            step=note.step,
            title=note.step.capitalize(),
            state=_STEP_STATES.get(note.state, note.state),
            text=note.text,
            seconds=(note.at_ms - at) / 1000 if note.state != "undone" else 0.0,
            hooks=[],
        )
    return list(steps.values())
