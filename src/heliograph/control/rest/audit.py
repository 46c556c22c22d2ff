"""The book of changes: one JSON line for each change over REST, and for each that was refused."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime

from heliograph.config.secret import HIDDEN, Secret
from heliograph.config.setting import is_secret
from heliograph.control.rest.limits import Attempts
from heliograph.control.rest.roles import Caller
from heliograph.errors import StartError

log = logging.getLogger("heliograph.audit")

_REFUSALS_A_MINUTE = 30


@dataclass
class AuditedRequest:
    """The request under way, for whoever writes a line about it."""

    host: str
    port: int
    what: str
    is_written: bool = False

    @property
    def client(self) -> str:
        """The address it came from."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


current_request: ContextVar[AuditedRequest | None] = ContextVar("current_request", default=None)


class AuditLog:
    """Writes lines to the log and, if there is one, to a file."""

    def __init__(self, file: str = "") -> None:
        self._file = file
        self._lock = threading.Lock()
        self._refusals = Attempts(_REFUSALS_A_MINUTE)
        self._left_out = 0

    def open(self) -> None:
        """Make sure that the file can be written; raises StartError."""
        try:
            self._append("")
        except OSError as error:
            raise StartError(f"rest.audit.file: {self._file} cannot be written: {error.strerror}") from None

    def write(self, caller: Caller, what: str, before: Mapping[str, object], after: Mapping[str, object]) -> None:
        """Note a change that was made."""
        request = current_request.get()
        if request is not None:
            request.is_written = True
        self._write(caller, what, {"before": shown(before), "after": shown(after), "outcome": "done"})

    def failed(self, caller: Caller, what: str, code: int, reason: str) -> None:
        """Note a change that was tried, and was not made."""
        self._write(caller, what, {"outcome": "failed", "code": code, "reason": reason})

    def refused(self, caller: Caller, what: str, code: int, reason: str) -> None:
        """Note an attempt of somebody who may not; of very many, only how many there were."""
        request = current_request.get()
        host = request.host if request else ""
        if self._refusals.seconds_to_wait(host) > 0:
            self._left_out += 1
            return
        self._refusals.add(host)
        more = {"refusals_left_out": self._left_out} if self._left_out else {}
        self._left_out = 0
        self._write(caller, what, {"outcome": "refused", "code": code, "reason": reason, **more})

    def _write(self, caller: Caller, what: str, rest: Mapping[str, object]) -> None:
        request = current_request.get()
        line = json.dumps(
            {
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "who": caller.name,
                "role": caller.role.name.lower(),
                "remote": request.client if request else "",
                "what": what,
                **rest,
            },
            default=str,
        )
        # Not log.info: whatever level someone sets, and be it over REST, the book goes on.
        log.handle(log.makeRecord(log.name, logging.INFO, __file__, 0, line, (), None))
        try:
            self._append(f"{line}\n")
        except OSError as error:
            log.error("rest.audit.file: %s cannot be written: %s", self._file, error.strerror)

    def _append(self, text: str) -> None:
        if not self._file:
            return
        with self._lock:  # opened anew each time: it may have been moved away to make room
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                file.write(text)


def shown(values: Mapping[str, object]) -> dict[str, object]:
    """The same values with secrets hidden, however deep they stand."""
    return {str(name): _shown(str(name), value) for name, value in values.items()}


def _shown(name: str, value: object) -> object:
    if isinstance(value, Mapping):
        return shown(value)
    if isinstance(value, (list, tuple)):
        return [_shown(name, item) for item in value]
    return HIDDEN if isinstance(value, Secret) or (value is not None and is_secret(name, None)) else value
