"""The steps from the settings of a file to its hooks, collecting every problem on the way."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from heliograph.config.header_rule import HeaderRule
from heliograph.config.hook import ANY_STEP, STEPS, Command, Hook, HookAction, Moment, OnFailure, Webhook
from heliograph.config.listener import is_loopback_name
from heliograph.config.options.hooks import HOOK_OPTIONS
from heliograph.config.problem import Problem, Severity
from heliograph.config.providers import references
from heliograph.config.secret import Secret
from heliograph.config.setting import revealed_text
from heliograph.config.value import BadValueError, parse_value

if TYPE_CHECKING:
    from heliograph.config.option import Value
    from heliograph.config.setting import Setting

_NAMES: Final = "hooks"
_PREFIX: Final = "hooks."
_OPTIONS: Final = {option.name: option for option in HOOK_OPTIONS}
_MOMENTS: Final = "write for example: after groups, failed"
_HEADERS: Final = "write Name: value, and items with commas in double quotes"


class HookReader:
    """Reads the hooks of a file; after that, `problems` tells what is wrong with them."""

    def __init__(
        self, settings: Mapping[str, Setting], file: str, aliases: Sequence[str], secrets: Sequence[Secret] = ()
    ) -> None:
        self._settings = settings
        self._file = file
        self._aliases = aliases
        self._secrets = secrets
        self.problems: list[Problem] = []

    def read(self) -> tuple[Hook, ...]:
        """All hooks that can be used, in the order in which they are named."""
        names = self._settings[_NAMES]
        listed = names.value if isinstance(names.value, tuple) else ()
        if _NAMES in self._aliases:  # then such keys are those of the cluster
            if listed:
                self._report(Severity.ERROR, _NAMES, "cannot be told from the cluster of that name", "rename it")
            return ()
        for name in dict.fromkeys(listed):
            if listed.count(name) > 1:
                self._report(Severity.ERROR, _NAMES, f"names {name} {listed.count(name)} times", "name it once")
        if names.valid:
            self._report_strays(listed)
        hooks = [self._hook(name) for name in dict.fromkeys(listed)]
        return tuple(hook for hook in hooks if hook)

    def _report(self, severity: Severity, key: str, message: str, hint: str = "") -> None:
        """Add a problem with a key; with one that is missing, at the line that takes it for granted."""
        setting = self._settings.get(key, self._settings[_NAMES])
        self.problems.append(Problem(severity, message, hint, self._file, setting.origin.line, key))

    def _report_strays(self, names: Sequence[str]) -> None:
        for key in [key for key in self._settings if key.startswith(_PREFIX)]:
            name, _, item = key.removeprefix(_PREFIX).partition(".")
            if name not in names:
                guess = next(iter(difflib.get_close_matches(name, names, n=1)), "")
                hint = f"did you mean {_PREFIX}{guess}.{item}?" if guess else f"add {name} to {_NAMES}"
                self._report(Severity.WARNING, key, f"has no effect: {name or 'it'} is not in {_NAMES}", hint)
            elif item not in _OPTIONS:
                close = difflib.get_close_matches(item, _OPTIONS, n=1)
                hint = f"did you mean {close[0]}?" if close else f"hooks have {', '.join(_OPTIONS)}"
                self._report(Severity.ERROR, key, "is not a key of a hook", hint)

    def _hook(self, name: str) -> Hook | None:
        before = len(self.problems)
        moments, action = self._moments(name), self._action(name)
        operations, flows = self._list(name, "operations"), self._flows(name)
        seconds, policy = self._value(name, "timeout.seconds"), self._value(name, "on.failure")
        if action is None or any(problem.severity is Severity.ERROR for problem in self.problems[before:]):
            return None
        assert isinstance(seconds, float)
        return Hook(name, moments, action, operations, flows, seconds, OnFailure(policy), self._secrets_of(name))

    def _text(self, name: str, item: str) -> str:
        setting = self._settings.get(f"{_PREFIX}{name}.{item}")
        return revealed_text(setting.value).strip() if setting else ""

    def _value(self, name: str, item: str) -> Value:
        option, text = _OPTIONS[item], self._text(name, item)
        try:
            return parse_value(option, text) if text else option.default
        except BadValueError as error:
            self._report(Severity.ERROR, f"{_PREFIX}{name}.{item}", error.reason, error.hint)
            return option.default

    def _list(self, name: str, item: str) -> tuple[str, ...]:
        value = self._value(name, item)
        assert isinstance(value, tuple)
        return value

    def _moments(self, name: str) -> tuple[Moment, ...]:
        key = f"{_PREFIX}{name}.when"
        items = self._list(name, "when")
        if not items:
            self._report(Severity.ERROR, key, "is missing", _MOMENTS)
        try:
            moments = tuple(Moment.parse(item) for item in items)
        except ValueError as error:
            self._report(Severity.ERROR, key, str(error), _MOMENTS)
            return ()
        operations = [name for name in self._list(name, "operations") if name in STEPS]
        known = list(dict.fromkeys(step for operation in operations for step in STEPS[operation]))
        for step in [moment.step for moment in moments if moment.step not in (ANY_STEP, *known)]:
            close = difflib.get_close_matches(step, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"steps are {', '.join(known)}"
            self._report(Severity.ERROR, key, f"there is no step {step} in {', '.join(operations)}", hint)
        return moments

    def _flows(self, name: str) -> tuple[str, ...]:
        flows = self._list(name, "flows")
        for flow in flows:
            ends = [end for end in flow.split("->") if end in self._aliases]
            if len(ends) != 2 or flow != "->".join(ends) or ends[0] == ends[1]:
                hint = f"write A->B; clusters are {', '.join(self._aliases)}"
                self._report(Severity.ERROR, f"{_PREFIX}{name}.flows", f"{flow or '(empty)'} is not a flow", hint)
        return flows

    def _action(self, name: str) -> HookAction | None:
        command, url, headers = (self._text(name, item) for item in ("command", "url", "headers"))
        key = f"{_PREFIX}{name}.url" if url else f"{_PREFIX}{name}.command"
        if bool(command) == bool(url):
            message = "stands beside a command: a hook has one of them" if url else "is missing"
            self._report(Severity.ERROR, key, message, f"write {_PREFIX}{name}.command or {_PREFIX}{name}.url")
            return None
        if url:
            return self._webhook(name, url, headers)
        if headers:
            message = "has no effect: only webhooks have headers"
            self._report(Severity.ERROR, f"{_PREFIX}{name}.headers", message, f"write {_PREFIX}{name}.url")
        return Command(Secret(command), Path(self._file).resolve().parent, self._settings[key].text)

    def _webhook(self, name: str, url: str, headers: str) -> Webhook | None:
        key = f"{_PREFIX}{name}.url"
        if references(url):  # that it cannot be resolved is told already
            return None
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        if not host or parts.scheme not in ("http", "https") or port == 0 or not url.isprintable() or " " in url:
            self._report(Severity.ERROR, key, "is not an address", "write https://host/path")
            return None
        if parts.scheme == "http" and not is_loopback_name(host):
            self._report(Severity.WARNING, key, "what is sent there is not encrypted", "write https://…")
        where = f"[{host}]" if ":" in host else host
        shown = f"POST to {parts.scheme}://{where}" + (f":{port}" if port else "")
        return Webhook(Secret(url), self._headers(name, headers), shown)

    def _headers(self, name: str, text: str) -> tuple[tuple[str, Secret], ...]:
        try:
            items = next(csv.reader([text], skipinitialspace=True), [])
            rules = [HeaderRule.parse(f"set {item.strip()}") for item in items]
        except (ValueError, csv.Error):
            self._report(Severity.ERROR, f"{_PREFIX}{name}.headers", "is not a list of Name: value", _HEADERS)
            return ()
        return tuple((rule.name, Secret(rule.value)) for rule in rules)

    def _secrets_of(self, name: str) -> tuple[Secret, ...]:
        """What was put in place of references in the hook's own keys."""
        texts = [self._text(name, item) for item in ("command", "url", "headers")]
        return tuple(secret for secret in self._secrets if any(secret.reveal() in text for text in texts))
