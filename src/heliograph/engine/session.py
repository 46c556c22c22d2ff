"""The Spark session that all flows of a process share."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.sql import SparkSession

from heliograph.engine.class_archive import JVM_OPTIONS, archive_option
from heliograph.engine.quick_python import quick_python
from heliograph.engine.spark_cluster import cluster_settings, executor_python, is_local, prepare_planning
from heliograph.engine.spark_home import quick_spark_home
from heliograph.engine.submission import submitted_settings
from heliograph.java import ensure_java
from heliograph.policy.plugins import loaded_modules

_TASK_ATTEMPTS = 4
_DEFAULTS = {
    "spark.app.name": "heliograph",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.speculation": "false",  # two attempts of one lane would only fence each other
    "spark.sql.codegen.wholeStage": "false",  # compiling code would take longer than handling our few rows
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.stopTimeout": "60s",  # unset: for ever; the next query of a flow waits until its name is free
    "spark.log.level": "ERROR",
}
_JVM_OPTIONS = "spark.driver.extraJavaOptions"
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.python.daemon.module": "heliograph.engine.worker_daemon",  # which executors of a cluster do not have yet
    # Checkpoints are disposable: no checksums beside them, and no `readlink` started as a process for every file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def start_session(lanes: int, settings: Mapping[str, str], log: Path) -> SparkSession:
    """A session with a task slot for every lane, and a log file for the JVM's chatter.

    On a cluster it has the slots that the cluster gives; modules of the user's that tasks may load are sent along.
    """
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        # It would print a traceback when the JVM dies, which the flows notice and tell themselves.
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
    chosen = {_JVM_OPTIONS: JVM_OPTIONS, **submitted_settings(), **settings}
    chosen[_JVM_OPTIONS] = f"{archive_option()} {chosen[_JVM_OPTIONS]}".strip()  # of two archives the later one counts
    with _stderr_to(log), _ctrl_c_kept():
        if is_local(chosen):
            return build_session(lanes, chosen, quick_python(log.parent))
        needed = cluster_settings(chosen, log.parent, loaded_modules())
        return _remote_session({"spark.executor.extraJavaOptions": JVM_OPTIONS, **needed, **chosen})


def build_session(lanes: int, settings: Mapping[str, str], python: str = sys.executable) -> SparkSession:
    """A session on this machine with our defaults; the given settings win. `python` runs Spark's processes."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    master = f"local[{lanes},{_TASK_ATTEMPTS}]"
    with quick_spark_home():
        return _session({"spark.master": master, **_LOCAL, **settings}, python)


def _remote_session(settings: Mapping[str, str]) -> SparkSession:
    prepare_planning()
    return _session(settings, executor_python(settings))


def _session(settings: Mapping[str, str], python: str) -> SparkSession:
    ensure_java()
    os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"] = python, sys.executable
    builder = SparkSession.builder
    for name, value in {**_DEFAULTS, **settings}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


@contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """Spark takes over SIGINT when it starts, and would cancel lanes: give it back to its former handler."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Give the JVM, which is started inside, a log file for its chatter; ours stays for our own messages."""
    sys.stderr.flush()
    ours = os.dup(2)
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
