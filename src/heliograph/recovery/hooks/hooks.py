"""Runs the user's own commands and webhooks at the steps of an operation."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from heliograph.config.cluster import ClusterConfig
from heliograph.config.flow import FlowConfig
from heliograph.config.hook import Command, Hook, HookAction, OnFailure, Webhook, When
from heliograph.config.secret import Secret, redact
from heliograph.errors import HookFailed
from heliograph.recovery.hooks.shell_command import run_shell
from heliograph.recovery.hooks.webhook_call import post

log = logging.getLogger(__name__)

_SHOWN_BYTES: Final = 4096
_LINES_IN_COMPLAINTS: Final = 10
_KEPT_BYTES: Final = 4 * _SHOWN_BYTES  # more than is shown, so that no secret is cut in two before it is hidden
_LONGEST_VARIABLE: Final = 32_768  # systems limit single variables, and all of them together
_SHORTEST_SECRET: Final = 8  # shorter words, such as Bearer, tell nothing
_ERROR: Final = "error"  # which comes among the facts, but has a name of its own
_REHEARSAL: Final = "drill"
_WAY_BACK: Final = "failback"


@dataclass(frozen=True)
class HookOutcome:
    """What became of a hook. `code` is the exit code or HTTP status; None: there was none, and `reason` says why."""

    name: str
    ok: bool
    seconds: float
    code: int | None
    output: str
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For journals and `-o json`."""
        return {
            "hook": self.name,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "code": self.code,
            "output": self.output,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        said = f": {self.output.splitlines()[-1]}" if self.output else ""
        return f"hook {self.name}: {'done' if self.ok else self.reason} ({self.seconds:.1f} s){said}"


class Hooks:
    """The hooks of one operation on one flow."""

    def __init__(self, hooks: Sequence[Hook], operation: str, flow: FlowConfig, operation_id: str = "") -> None:
        self._hooks = [hook for hook in hooks if hook.concerns(operation, flow.name)]
        destination = flow.source if operation == _WAY_BACK else flow.target
        self._common = {
            "operation": operation,
            "operation_id": operation_id,
            "flow": flow.name,
            "source": flow.source.alias,
            "target": flow.target.alias,
            "source_servers": _servers(flow.source),
            "target_servers": _servers(flow.target),
            "to": destination.alias,
            "to_servers": _servers(destination),
            "dry_run": "true" if operation == _REHEARSAL else "false",
        }

    def planned(self, when: str, step: str) -> list[str]:
        """The hooks that would run, with what they do, secrets hidden."""
        return [str(hook) for hook in self._due(when, step)]

    def run(self, when: str, step: str, facts: Mapping[str, str]) -> list[HookOutcome]:
        """Run all hooks of a moment, one after the other. Raises HookFailed at the first that fails and must not.

        When the operation has failed (`failed`, with the fact `error`), all run and none raises: the failure that they
        tell of must not be hidden behind one of theirs.
        """
        outcomes: list[HookOutcome] = []
        for hook in self._due(when, step):
            outcome = _run(hook, {**self._common, "step": step, "when": when, "hook": hook.name}, facts)
            log.log(logging.INFO if outcome.ok else logging.WARNING, "%s", outcome)
            outcomes.append(outcome)
            if not outcome.ok and hook.on_failure is OnFailure.STOP and when != When.FAILED.value:
                raise HookFailed(f"hook {hook.name}, {when} {step}: {_complaint(outcome)}", outcomes)
        return outcomes

    def _due(self, when: str, step: str) -> list[Hook]:
        return [hook for hook in self._hooks if hook.is_due(When(when), step)]


def _run(hook: Hook, about: Mapping[str, str], facts: Mapping[str, str]) -> HookOutcome:
    started = time.monotonic()
    about = {**about, _ERROR: facts[_ERROR]} if _ERROR in facts else about
    facts = {name: fact for name, fact in facts.items() if name != _ERROR}
    if isinstance(hook.action, Command):
        code, raw, reason = _run_command(hook.action, hook.timeout_seconds, _variables(about, facts))
    else:
        code, raw, reason = _call_webhook(hook.action, hook.timeout_seconds, _body(about, facts))
    secrets = [*hook.secrets, *_secrets_of(hook.action)]
    seconds = time.monotonic() - started
    return HookOutcome(hook.name, not reason, seconds, code, _shown(raw, secrets), redact(reason, secrets))


def _run_command(action: Command, seconds: float, variables: Mapping[str, str]) -> tuple[int | None, bytes, str]:
    environment = {**os.environ, **variables}
    try:
        result = run_shell(action.text.reveal(), action.folder, environment, seconds, _KEPT_BYTES)
    except OSError as error:
        return None, b"", f"could not be started: {error.strerror or error}"
    if result.exit_code is None:
        return None, result.output, f"was ended after {seconds:g} s, with all that it had started"
    return result.exit_code, result.output, _ending(result.exit_code)


def _ending(code: int) -> str:
    """How a command that failed has ended; empty for one that did not."""
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}" if code else ""


def _call_webhook(action: Webhook, seconds: float, body: object) -> tuple[int | None, bytes, str]:
    headers = {name: value.reveal() for name, value in action.headers}
    result = post(action.url.reveal(), headers, body, seconds, _KEPT_BYTES)
    return result.status, result.body, result.failure


def _variables(about: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, str]:
    named = {f"HELIOGRAPH_{name.upper()}": value for name, value in about.items()}
    named |= {f"HELIOGRAPH_FACT_{_variable(name)}": value for name, value in facts.items()}
    return {name: value.replace("\0", "")[:_LONGEST_VARIABLE] for name, value in named.items()}


def _variable(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _body(about: Mapping[str, str], facts: Mapping[str, str]) -> dict[str, object]:
    return {**about, "dry_run": about["dry_run"] == "true", "facts": dict(facts)}


def _secrets_of(action: HookAction) -> list[Secret]:
    """What an answer may repeat of a call, in whole or in part."""
    if not isinstance(action, Webhook):
        return []
    url = urlsplit(action.url.reveal())
    parts = [url.path, url.query, url.password or ""]
    words = [word for _, value in action.headers for word in (value.reveal(), *value.reveal().split())]
    return [action.url, *(Secret(text) for text in (*parts, *words) if len(text) >= _SHORTEST_SECRET)]


def _servers(cluster: ClusterConfig) -> str:
    return ",".join(server.rpartition("//")[2] for server in cluster.bootstrap_servers)


def _shown(raw: bytes, secrets: Sequence[Secret]) -> str:
    """The end of what was put out, without secrets and without what would steer a terminal."""
    text = redact(raw.decode(errors="replace"), secrets)
    text = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
    return text.strip()[-_SHOWN_BYTES:]


def _complaint(outcome: HookOutcome) -> str:
    return "\n".join([outcome.reason, *outcome.output.splitlines()[-_LINES_IN_COMPLAINTS:]])
