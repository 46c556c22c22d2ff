"""What is different when Spark runs on other machines: addresses, Python, what is sent along, and how much fits."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext

from heliograph.engine.executor_package import dependencies_zip, write_program
from heliograph.engine.submission import is_submitted

_DEPENDENCIES, _PROGRAM = "heliograph_packages", "heliograph_program"  # folders beside an executor
_LOOPBACK = "127.0.0.1"


def is_local(settings: Mapping[str, str]) -> bool:
    """Whether tasks run on this machine, in Spark's own process."""
    return settings.get("spark.master", "local").startswith("local")


def cluster_settings(settings: Mapping[str, str], folder: Path, modules: Iterable[str]) -> dict[str, str]:
    """What a session on a cluster needs; what the user has set wins over it."""
    host, bound_to = control_addresses(settings)
    addresses = {"spark.driver.host": host, "spark.driver.bindAddress": bound_to}
    if has_own_environment(settings):
        return addresses
    program = folder / "program.zip"
    write_program(program, modules)
    python_path = [_PROGRAM, _DEPENDENCIES]
    if is_submitted():  # its JVM runs already, and plans in processes that know only this path
        python_path += _own_path()
    return {
        **addresses,
        "spark.archives": f"{program}#{_PROGRAM},{dependencies_zip()}#{_DEPENDENCIES}",
        "spark.executorEnv.PYTHONPATH": ":".join(python_path),
    }


def has_own_environment(settings: Mapping[str, str]) -> bool:
    """Whether the user has prepared the executors: whoever names archives or a Python of their own has."""
    return "spark.archives" in settings or "spark.pyspark.python" in settings


def executor_python(settings: Mapping[str, str]) -> str:
    """The Python of executors: of the driver's version, wherever it lies there."""
    return settings.get("spark.pyspark.python") or f"python{sys.version_info[0]}.{sys.version_info[1]}"


def prepare_planning() -> None:
    """Let processes that plan on this machine, with the executors' name of Python, find what this one finds."""
    os.environ["PYTHONPATH"] = ":".join(_own_path())


def _own_path() -> list[str]:
    return [path for path in sys.path if path and not path.endswith(".zip")]


def control_addresses(settings: Mapping[str, str]) -> tuple[str, str]:
    """Where lanes call the driver, and what it binds to for that."""
    if is_local(settings):
        return _LOOPBACK, _LOOPBACK
    host = settings.get("spark.driver.host") or driver_host(settings["spark.master"])
    return host, settings.get("spark.driver.bindAddress", host)


def driver_host(master: str) -> str:
    """The address at which the master's machine, and so the workers, can reach this one."""
    parts = urlsplit(master.split(",")[0])
    if parts.scheme == "spark" and parts.hostname:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((parts.hostname, parts.port or 7077))  # sends nothing, but chooses the way
            except OSError:
                return socket.gethostname()
            return str(probe.getsockname()[0])
    return socket.gethostname()


def cluster_slots(context: SparkContext) -> int:
    """How many tasks can run at once now; no end to them where Spark starts executors as they are needed."""
    if context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return sys.maxsize
    jvm = context._jsc.sc()  # noqa: SLF001 - PySpark itself does not tell
    return int(jvm.maxNumConcurrentTasks(jvm.resourceProfileManager().defaultResourceProfile()))
