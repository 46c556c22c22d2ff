"""Rules that users write as Python classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.python_class import PythonClass
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Kept, Resolver
from heliograph.errors import DataError
from heliograph.policy.plugins import PluginError
from tests.conflicts.samples import conflict, record

FOUND = conflict(record("eu", 1, b"secret"), record("us", 2, b"b"))


class Longest(Resolver):
    """Takes the longest value, and adds up what the view holds."""

    def configure(self, settings: Mapping[str, str]) -> None:
        self.suffix = settings["suffix"].encode()

    @property
    def accumulates(self) -> bool:
        return True

    def resolve(self, conflict: Conflict) -> Resolution:
        longest = max(conflict.candidates, key=lambda one: len(one.value or b""))
        return Resolution(longest, (longest.value or b"") + self.suffix, "mine", "so there")

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        return Kept((before.value or b"") + (value or b""))


class Broken(Resolver):
    """Stumbles over every record."""

    def resolve(self, conflict: Conflict) -> Resolution:
        raise KeyError(conflict.candidates[0].value)

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        return "no"  # type: ignore[return-value]


class Answers(Resolver):
    """Gives whatever was put here."""

    answer: object = None

    def resolve(self, conflict: Conflict) -> Resolution:
        return self.answer  # type: ignore[return-value]


class Unwilling(Resolver):
    """Cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("not today")

    def resolve(self, conflict: Conflict) -> Resolution:
        raise AssertionError


class Unfinished(Resolver):
    """Does not say how to resolve."""


def named(found: type) -> str:
    return f"{found.__module__}.{found.__name__}"


def test_the_class_decides_and_the_rule_is_its_name() -> None:
    resolver = PythonClass(named(Longest))
    resolver.configure({"suffix": "!"})
    assert resolver.resolve(FOUND) == (FOUND.candidates[0], b"secret!", named(Longest), "so there")
    assert resolver.accumulates
    assert resolver.keep(Kept(b"a"), FOUND.candidates, b"b") == Kept(b"ab")


def test_what_the_class_raises_is_told_by_kind_and_place_but_not_by_text() -> None:
    with pytest.raises(DataError, match=r"Broken: KeyError in test_python_class\.py, line \d+") as raised:
        PythonClass(named(Broken)).resolve(FOUND)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (None, "returned a NoneType, not a Resolution"),
        (Resolution(None, "text", "r"), "must be bytes or None, not str"),  # type: ignore[arg-type]
        (Resolution.for_winner(record("ap", 1), "r"), "the winner is none of the candidates"),
    ],
)
def test_an_answer_that_is_none_is_refused(answer: object, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answers, "answer", answer)
    with pytest.raises(DataError, match=complaint):
        PythonClass(named(Answers)).resolve(FOUND)


def test_what_the_view_should_hold_is_checked_too() -> None:
    with pytest.raises(DataError, match="keep returned a str"):
        PythonClass(named(Broken)).keep(Kept(None), FOUND.candidates, b"b")


def test_settings_that_the_class_stumbles_over_are_refused() -> None:
    with pytest.raises(ValueError, match="KeyError: 'suffix'"):
        PythonClass(named(Longest)).configure({})


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (named(Unfinished), "does not define: resolve"),
        (named(Unwilling), "fails: RuntimeError: not today"),
        ("no.such.Class", "no module no"),
        ("json.JSONDecoder", r"not a subclass of heliograph\.conflicts\.resolvers\.resolver\.Resolver"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(name: str, complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        PythonClass(name)
