"""What a task of detection tells of itself while it runs, as lanes do."""

from __future__ import annotations

from heliograph.engine.lane_line import LaneLine
from heliograph.engine.pulse import USERS_SECONDS, Heart, loop_doing
from heliograph.kafka.connection import Loop


def task_heart(number: int, line: LaneLine) -> Heart:
    """The heart of a task. It stands still while Spark, or a resolver of the user's own, has the word."""
    return Heart(number, line.report, USERS_SECONDS)


def beating_loop(heart: Heart, doing: str) -> Loop:
    """A loop that lets the heart beat as long as it turns."""
    loop = Loop(lambda: heart.beat(lambda: loop_doing(loop, doing)), heart.before)
    return loop
