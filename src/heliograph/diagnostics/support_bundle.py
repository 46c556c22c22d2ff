"""What goes into the archive that one sends to those who shall help."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from heliograph.config import explanation
from heliograph.config.mirror_config import MirrorConfig
from heliograph.config.secret import Secret
from heliograph.diagnostics.bundle import Bundle
from heliograph.diagnostics.environment import shown_variables
from heliograph.diagnostics.examination import Examination
from heliograph.diagnostics.live_mirror import LiveMirror, address_of
from heliograph.diagnostics.observation import Observation
from heliograph.diagnostics.redaction import Redactor, Tree, environment_secrets, secrets_of
from heliograph.diagnostics.versions import Versions

_LOG_LINES = 5000


@dataclass(frozen=True)
class Sources:
    """Where more can be learnt than the examination tells."""

    logs: Sequence[Path] = ()
    address: str = ""  # of the mirror; empty: as its file says
    token: Secret | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)


def support_bundle(examination: Examination, sources: Sources) -> Bundle:
    """All parts, without secrets."""
    config = examination.config
    bundle = Bundle(Redactor(_secrets(config, sources)))
    bundle.add_tree("version.json", {**Versions.read().by_name()})
    bundle.add_tree("doctor.json", [observation_data(item) for item in examination.observations])
    bundle.add_tree("environment.json", {**shown_variables(sources.environment)})
    if config is not None:
        bundle.add_tree("config.json", _effective(config))
    _add_mirror(bundle, config, sources)
    for number, log in enumerate(sources.logs, 1):
        bundle.add_text(f"logs/{number}-{log.name}", _tail(log))
    return bundle


def observation_data(observation: Observation) -> dict[str, Tree]:
    """An observation as plain values."""
    return {**asdict(observation), "verdict": observation.verdict.value}


def _secrets(config: MirrorConfig | None, sources: Sources) -> Iterator[Secret]:
    yield from environment_secrets(sources.environment)
    if sources.token is not None:
        yield sources.token
    if config is not None:
        yield from secrets_of(config)


def _effective(config: MirrorConfig) -> Tree:
    return [
        {"title": group.title, "settings": {setting.name: setting.text for setting in group.settings}}
        for group in explanation.explain(config)
    ]


def _add_mirror(bundle: Bundle, config: MirrorConfig | None, sources: Sources) -> None:
    listeners = config.get("listeners") if config else ()
    address = sources.address or address_of(listeners if isinstance(listeners, tuple) else ())
    if not address:
        return
    flows = [flow.name for flow in config.flows] if config else []
    problems: dict[str, Tree] = {}
    for answer in LiveMirror(address, sources.token).answers(flows):
        if answer.problem:
            problems[answer.name] = answer.problem
        else:
            bundle.add_text(f"mirror/{answer.name}", answer.text)
    if problems:
        bundle.add_tree("mirror/unanswered.json", problems)


def _tail(log: Path) -> str:
    """The last lines of a log; why not, if it cannot be read."""
    try:
        with open(log, encoding="utf-8", errors="replace") as lines:
            return "".join(deque(lines, _LOG_LINES))
    except OSError as error:
        return f"cannot be read: {error.strerror}\n"
