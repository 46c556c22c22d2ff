"""Operations over our API: what would be done, doing it, and how far it is."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from heliograph.control.drill_run import DrillWishes
from heliograph.control.operation_order import Kind, OperationOrder
from heliograph.control.operations_desk import FlowBusy, OperationRun, OperationsDesk
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.operation_answers import (
    OperationAnswer,
    OperationBody,
    OperationsAnswer,
    OptionsBody,
    PreviewAnswer,
)
from heliograph.control.rest.operation_journal import Journals
from heliograph.control.rest.operation_views import preview_view, run_view, short
from heliograph.control.rest.roles import Admin, Caller, Operator, Role, RoleRule, needs
from heliograph.control.rest.site import Site, site_of
from heliograph.errors import OperationFailed
from heliograph.recovery.producers.fence import FenceWay
from heliograph.recovery.switchover import MoveOptions

_PATH = "/api/v1/operations"
_ADMIN = RoleRule(Role.ADMIN)
_MOVE = {"fence", "quiet_seconds", "patience_seconds", "leave_consumers", "verify_seconds"}
_TAKEN = {
    Kind.SWITCHOVER: _MOVE,
    Kind.FAILOVER: set[str](),
    Kind.FAILBACK: {*_MOVE, "tail_topic"},
    Kind.VERIFY: {"verify_seconds"},
    Kind.DRILL: {"drill_seconds", "drill_groups"},
}

router = APIRouter(prefix=_PATH, tags=["operations"])
_viewers = [needs(Role.VIEWER)]
_journals = Journals()


@router.get("", dependencies=_viewers)
def operations(request: Request) -> OperationsAnswer:
    """Operations of this process, and those of the last day that journals tell of; the newest first."""
    site = site_of(request)
    ours = [run_view(run, with_details=False) for run in _desk(request).runs()]
    known = {(item.flow, item.id) for item in ours}
    told = _journals.read(site.mirror.flows.values())
    others = [item for part in told for item in part.operations if (item.flow, item.id) not in known]
    return OperationsAnswer(
        operations=[short(item) for item in sorted([*ours, *others], key=lambda item: -item.began_at_ms)],
        unread=[part.trouble for part in told if part.trouble],
    )


@router.get("/{id}", dependencies=_viewers)
def operation(request: Request, id: str, flow: str | None = None) -> OperationAnswer:
    """One operation with its steps and what they have found out."""
    run = _desk(request).find(id, flow)
    if run is not None:
        return run_view(run)
    told = _journals.read(site_of(request).mirror.flows.values())
    for item in (item for part in told for item in part.operations):
        if item.id == id and flow in (None, item.flow):
            return item
    raise RestError(404, "; ".join([f"there is no operation {id}", *(part.trouble for part in told if part.trouble)]))


@router.post("", status_code=202, responses={200: {"model": PreviewAnswer, "description": "Of a dry run"}})
def begin(
    request: Request, response: Response, wanted: OperationBody, caller: Operator
) -> OperationAnswer | PreviewAnswer:
    """Look what an operation would do, or begin it; what changes clusters takes an admin and the flow's name again."""
    is_harmless = wanted.dry_run or wanted.operation == Kind.VERIFY.value
    if not is_harmless:
        _ADMIN.check(request)
    site = site_of(request)
    order = _order(site, wanted)
    if not is_harmless and wanted.confirm != wanted.flow:
        raise RestError(400, f'this changes clusters: to begin, send "confirm": "{wanted.flow}", the name of the flow')
    try:
        if wanted.dry_run:
            response.status_code = 200
            return _preview(site, order, caller)
        run = _begun(site, _desk(request), order, caller, wanted.options)
    except FlowBusy as error:
        raise RestError(409, str(error)) from None
    except OperationFailed as error:  # before anything was begun: the file or the clusters do not allow for it
        raise RestError(400, str(error)) from None
    response.headers["Location"] = f"{_PATH}/{quote(run.id)}?flow={quote(wanted.flow)}"
    return run_view(run)


@router.post("/{id}/stop", status_code=202)
def stop(request: Request, id: str, caller: Admin, flow: str | None = None) -> OperationAnswer:
    """Let an operation of this process end as it does with Ctrl-C: it puts back what it can, and can be run again."""
    run = _desk(request).find(id, flow)
    if run is None:
        raise RestError(404, f"this process has no operation {id}")
    if run.is_over.is_set():
        raise RestError(409, f"{id} is over")
    run.stop()
    site_of(request).audit.write(caller, f"{run.order}: told to stop", {}, {"id": run.id})
    return run_view(run)


def _desk(request: Request) -> OperationsDesk:
    desk: OperationsDesk = request.app.state.operations
    return desk


def _order(site: Site, wanted: OperationBody) -> OperationOrder:
    flow, kind, options = site.flow(wanted.flow).config, Kind(wanted.operation), wanted.options
    if not flow.enabled:
        raise RestError(400, f"{flow.name} mirrors nothing, it only writes heartbeats")
    if foreign := sorted(options.model_fields_set - _TAKEN[kind]):
        raise RestError(400, f"{kind.value} has no option {', '.join(foreign)}")
    if wanted.undo and not kind.can_be_undone:
        raise RestError(400, f"{kind.value} is not put back" + ("; use failback" if kind is Kind.FAILOVER else ""))
    if wanted.undo and wanted.dry_run:
        raise RestError(400, "there is no dry run of putting back")
    if options.verify_seconds is None and kind is not Kind.VERIFY:
        raise RestError(400, "options.verify_seconds: null is for verify alone; 0 compares nothing")
    if options.verify_seconds == 0 and kind is Kind.VERIFY:
        raise RestError(400, "options.verify_seconds: 0 would compare nothing; null compares all records")
    drill = DrillWishes(options.drill_seconds, options.drill_groups)
    return OperationOrder(kind, flow, wanted.undo, _move(options), options.tail_topic, options.verify_seconds, drill)


def _move(options: OptionsBody) -> MoveOptions:
    return MoveOptions(
        FenceWay(options.fence) if options.fence else None,
        options.quiet_seconds,
        options.patience_seconds,
        options.leave_consumers,
        options.verify_seconds or 0.0,
        may_mirror=False,  # this process does so already
    )


def _preview(site: Site, order: OperationOrder, caller: Caller) -> PreviewAnswer:
    work = order.work(site.mirror.config)
    answer = preview_view(order.kind.value, order.flow.name, order.obstacle(site.mirror), work.preview())
    answer.details = work.details()
    site.audit.write(caller, f"dry run of {order}", {}, {"can_begin": answer.can_begin, "problems": answer.problems})
    return answer


def _begun(
    site: Site, desk: OperationsDesk, order: OperationOrder, caller: Caller, options: OptionsBody
) -> OperationRun:
    if obstacle := order.obstacle(site.mirror):
        raise RestError(400, obstacle)

    def begins() -> None:
        site.audit.write(caller, f"begin of {order}", {}, {"options": options.model_dump(exclude_unset=True)})

    def ended(run: OperationRun) -> None:
        site.audit.write(caller, f"end of {order}", {}, {"id": run.id, "state": run.state, "error": run.error})

    return desk.begin(order, caller.name, begins, ended)
