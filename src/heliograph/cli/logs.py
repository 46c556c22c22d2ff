"""Log lines: for people by default, one JSON object a line for machines."""

from __future__ import annotations

import json
import logging
import sys
import time


class _JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": record.getMessage(),
            }
        )


def _has_a_name(record: logging.LogRecord) -> bool:
    """Py4J logs a traceback through the nameless logger when Spark's JVM dies, which we tell in our own words."""
    return record.name != "root"


def configure_logs(as_json: bool) -> None:
    """Send our log lines to standard error; libraries only speak up when something is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(_has_a_name)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("heliograph").setLevel(logging.INFO)
    for noisy in ("kafka", "py4j"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
