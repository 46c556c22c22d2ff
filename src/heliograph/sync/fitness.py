"""Whether a topic of the target takes everything that its source holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from heliograph.config.problem import Severity

Values = Mapping[str, str | None]

_SIZE = "max.message.bytes"
_REPLICAS = "min.insync.replicas"
_AFTER = "message.timestamp.after.max.ms"
_BEFORE = "message.timestamp.before.max.ms"
_RETENTION = "retention.ms"
_UNLIMITED = 2**63 - 1


@dataclass(frozen=True)
class Finding:
    """Something that will fail (error), may fail (warning) or is worth knowing (note)."""

    severity: Severity
    subject: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.severity.value}: {self.subject}: {self.message}{hint}"


def misfits(topic: str, source: Values, target: Values, replication_factor: int) -> Iterator[Finding]:
    """What the target's topic would refuse, judged by the settings of both sides."""
    yield from _too_large(topic, source, target)
    yield from _too_few_replicas(topic, target, replication_factor)
    if target.get("message.timestamp.type") == "LogAppendTime":
        yield Finding(
            Severity.WARNING,
            topic,
            "the target replaces the time of every record by its own",
            "set message.timestamp.type=CreateTime there",
        )
        return
    yield from _too_early(topic, source, target)
    yield from _too_late(topic, source, target)


def _too_large(topic: str, source: Values, target: Values) -> Iterator[Finding]:
    there, here = _number(source, _SIZE), _number(target, _SIZE)
    if there is not None and here is not None and here < there:
        message = f"the source takes records of up to {there} bytes, the target only {here}"
        yield Finding(Severity.ERROR, topic, message, f"set {_SIZE}={there} on the target")


def _too_few_replicas(topic: str, target: Values, replication_factor: int) -> Iterator[Finding]:
    needed = _number(target, _REPLICAS)
    if needed is not None and 0 < replication_factor < needed:
        message = f"needs {needed} replicas in sync but has only {replication_factor}: every write fails"
        yield Finding(Severity.ERROR, topic, message, f"lower {_REPLICAS} or add replicas")


def _too_early(topic: str, source: Values, target: Values) -> Iterator[Finding]:
    """A record from the future comes nearer while it waits, so the same limit on both sides is enough."""
    limit, taken = _number(target, _AFTER), _number(source, _AFTER)
    if limit is not None and limit < (_UNLIMITED if taken is None else taken):
        message = f"the target refuses records more than {limit} ms ahead of its clock, which the source takes"
        yield Finding(Severity.WARNING, topic, message, f"raise {_AFTER} on the target")


def _too_late(topic: str, source: Values, target: Values) -> Iterator[Finding]:
    """A record grows older while it waits, so the limit must allow for all that the source keeps."""
    limit = _number(target, _BEFORE)
    if limit is None or limit == _UNLIMITED:
        return
    kept = _number(source, _RETENTION)
    is_compacted = "compact" in (source.get("cleanup.policy") or "")
    if is_compacted or kept is None or kept < 0 or kept > limit:
        message = f"the target refuses records older than {limit} ms, which the source may still hold"
        yield Finding(Severity.WARNING, topic, message, f"raise {_BEFORE} on the target")


def _number(values: Values, name: str) -> int | None:
    text = values.get(name)
    return None if text is None else int(text)
