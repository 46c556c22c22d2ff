from __future__ import annotations

import threading
import time

from heliograph.engine.jvm_watch import JvmWatch
from tests.waiting import wait_until


def test_a_jvm_that_does_not_answer_is_noticed_once() -> None:
    noticed: list[float] = []
    never = threading.Event()
    JvmWatch(lambda: never.wait(20), lambda: noticed.append(1), seconds=0.3, interval=0.02).start()
    wait_until(lambda: bool(noticed), "the silence to be noticed", 5)
    time.sleep(0.5)
    assert len(noticed) == 1
    never.set()


def test_one_that_answers_and_one_that_has_ended_are_left_alone() -> None:
    noticed: list[float] = []
    asked: list[int] = []

    def ended() -> None:
        raise ConnectionRefusedError

    JvmWatch(lambda: asked.append(1), lambda: noticed.append(1), seconds=0.3, interval=0.02).start()
    JvmWatch(ended, lambda: noticed.append(1), seconds=0.3, interval=0.02).start()
    wait_until(lambda: len(asked) > 40, "many answers", 10)
    assert not noticed
