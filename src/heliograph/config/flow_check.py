"""What is wrong with settings of a flow that each fit alone, but not together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from heliograph.config.problem import Problem, Severity
from heliograph.policy.replication import DefaultReplicationPolicy, IdentityReplicationPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heliograph.config.flow import FlowConfig
    from heliograph.config.setting import Setting

_LEGAL_IN_TOPICS: Final = re.compile(r"[A-Za-z0-9._-]+")


def check_separator(setting: Setting, file: str) -> Iterator[Problem]:
    """Whether the separator can stand in topic names; policies refuse others with less to say."""
    separator = str(setting.value)
    if not _LEGAL_IN_TOPICS.fullmatch(separator):
        yield Problem(
            Severity.ERROR,
            f"'{setting.text}' cannot stand in topic names",
            "use letters, digits, dot, underscore and hyphen",
            file,
            setting.origin.line,
            setting.origin.key,
        )


def check_flow(flow: FlowConfig, file: str) -> Iterator[Problem]:
    """Every problem of a flow's settings as a whole."""
    checker = _Checker(flow, file)
    yield from checker.alias()
    yield from checker.empty_topics()
    yield from checker.exactly_once()
    yield from checker.commit()
    yield from checker.steps("transforms")
    yield from checker.steps("predicates")
    yield from checker.predicates_of_transforms()
    yield from checker.sql()


class _Checker:
    """Checks one flow; problems point at the line that set the value in question."""

    def __init__(self, flow: FlowConfig, file: str) -> None:
        self._flow = flow
        self._file = file

    def alias(self) -> Iterator[Problem]:
        policy, separator = self._flow.replication_policy, str(self._flow.get("replication.policy.separator"))
        prefixed = isinstance(policy, DefaultReplicationPolicy) and not isinstance(policy, IdentityReplicationPolicy)
        if prefixed and separator in self._flow.source.alias:
            yield Problem(
                Severity.WARNING,
                f"the alias {self._flow.source.alias} holds the separator '{separator}', so that remote "
                "topics cannot be traced back to it",
                "choose another alias or replication.policy.separator",
                self._file,
            )

    def empty_topics(self) -> Iterator[Problem]:
        if self._flow.enabled and self._flow.get("topics") == ():
            yield self._problem(
                Severity.WARNING, "topics", "is empty, so that nothing is mirrored", "write .* for all topics"
            )

    def exactly_once(self) -> Iterator[Problem]:
        required = self._flow.get("exactly.once.support") == "required"
        if required and self._flow.get("exactly.once.source.support") == "disabled":
            yield self._problem(
                Severity.ERROR,
                "exactly.once.support",
                "is required, but exactly.once.source.support is disabled",
                f"write {self._flow.target.alias}.exactly.once.source.support = enabled",
            )

    def commit(self) -> Iterator[Problem]:
        if self._flow.get("exactly.once.commit") != "sequences":
            return
        why = ""
        if self._flow.get("exactly.once.source.support") == "disabled":
            why = "exactly.once.source.support is disabled"
        elif self._flow.changes_records:
            why = "transforms may drop records, add some or send them elsewhere"
        if why:
            advice = "write exactly.once.commit = transactions"
            problem = f"has no effect: {why}; the flow writes as if it were transactions"
            yield self._problem(Severity.WARNING, "exactly.once.commit", problem, advice)

    def steps(self, kind: str) -> Iterator[Problem]:
        names = self._names(kind)
        declared = self._flow.family(f"{kind}.")
        for name in names:
            if not declared.get(f"{name}.type"):
                yield self._problem(
                    Severity.ERROR,
                    kind,
                    f"'{name}' has no type",
                    f"write {self._flow.name}.{kind}.{name}.type = a class name",
                )
        for key in declared:
            if key.partition(".")[0] not in names:
                yield self._problem(
                    Severity.WARNING,
                    f"{kind}.{key}",
                    f"has no effect, because {kind} does not name it",
                    f"add {key.partition('.')[0]} to {self._flow.name}.{kind}",
                )

    def predicates_of_transforms(self) -> Iterator[Problem]:
        known = self._names("predicates")
        for name in self._names("transforms"):
            predicate = self._flow.family("transforms.").get(f"{name}.predicate", "").strip()
            if predicate and predicate not in known:
                yield self._problem(
                    Severity.ERROR,
                    f"transforms.{name}.predicate",
                    f"there is no predicate '{predicate}'",
                    f"add it to {self._flow.name}.predicates",
                )

    def sql(self) -> Iterator[Problem]:
        if self._flow.sql and self._names("transforms"):
            yield self._problem(
                Severity.ERROR,
                "transform.sql",
                "stands beside transforms: records of a flow pass through the one or the other",
                "do all of it in SQL, or with transforms",
            )

    def _names(self, kind: str) -> tuple[str, ...]:
        names = self._flow.get(kind)
        return names if isinstance(names, tuple) else ()

    def _problem(self, severity: Severity, name: str, message: str, hint: str) -> Problem:
        origin = self._flow.setting(name).origin
        return Problem(severity, message, hint, self._file, origin.line, origin.key or name)
