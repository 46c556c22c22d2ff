"""Notices that Spark's JVM does not answer any more, as when it is frozen: whoever asks it something waits for ever."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

SILENCE_SECONDS = 60.0
_INTERVAL = 2.0
_OVERSLEPT_SECONDS = 5.0


class JvmWatch:
    """Asks it again and again for next to nothing; `on_silence` is called once, when no answer has come for long."""

    def __init__(
        self,
        ask: Callable[[], object],
        on_silence: Callable[[], None],
        seconds: float = SILENCE_SECONDS,
        interval: float = _INTERVAL,
    ) -> None:
        self._ask = ask
        self._on_silence = on_silence
        self._seconds = seconds
        self._interval = interval
        self._heard_at = time.monotonic()
        self._has_ended = threading.Event()

    def start(self) -> None:
        """Begin; it ends with the JVM."""
        for action in (self._ask_again, self._judge):
            threading.Thread(target=action, name="jvm-watch", daemon=True).start()

    def _ask_again(self) -> None:
        with suppress(Py4JError, OSError):  # it has ended, which the flows notice themselves
            while not self._has_ended.wait(self._interval):
                self._ask()
                self._heard_at = time.monotonic()
        self._has_ended.set()

    def _judge(self) -> None:
        looked_at = time.monotonic()
        while not self._has_ended.wait(self._interval):
            now = time.monotonic()
            overslept = now - looked_at - self._interval
            looked_at = now
            if overslept > _OVERSLEPT_SECONDS:  # our own process was frozen
                self._heard_at += overslept
            if now - self._heard_at > self._seconds:
                self._has_ended.set()
                self._on_silence()


def watch_jvm(spark: SparkSession) -> None:
    """Kill the JVM of a session when it is silent: then the flows notice, and the process is started again."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - nothing else asks so little of it
    assert jvm is not None
    process = getattr(spark.sparkContext._gateway, "proc", None)  # noqa: SLF001 - none under spark-submit

    def kill() -> None:
        log.error("Spark's JVM has not answered for %.0f s: it is ended", SILENCE_SECONDS)
        if process is not None:
            process.kill()

    JvmWatch(jvm.java.lang.System.nanoTime, kill).start()
