"""What the threads of the process are doing: for those who wonder why it does not move."""

from __future__ import annotations

import sys
import threading
from types import FrameType

from fastapi import APIRouter
from pydantic import BaseModel

from heliograph.control.rest.roles import Role, needs

router = APIRouter(prefix="/api/v1", tags=["heliograph"])


class ThreadAnswer(BaseModel):
    """One thread, and its calls, the innermost first. Values of variables are not told: they may be secret."""

    name: str
    is_daemon: bool
    calls: list[str]


@router.get("/threads", dependencies=[needs(Role.OPERATOR)])
def threads() -> list[ThreadAnswer]:
    """All threads of Python's."""
    frames = sys._current_frames()  # noqa: SLF001 - there is no other way
    return [
        ThreadAnswer(name=thread.name, is_daemon=thread.daemon, calls=_calls(frames.get(thread.ident or 0)))
        for thread in threading.enumerate()
    ]


def _calls(frame: FrameType | None) -> list[str]:
    found = []
    while frame is not None:
        found.append(f"{frame.f_globals.get('__name__', '?')}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return found
