"""Rules by the name in a configuration."""

from __future__ import annotations

import pytest

from heliograph.conflicts.resolvers.catalogue import RULES, make_resolver
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.conflicts.resolvers.python_class import PythonClass
from heliograph.policy.plugins import PluginError


def test_the_last_writer_wins_unless_told_otherwise() -> None:
    assert isinstance(make_resolver({}), LastWriterWins)


def test_every_rule_has_its_name() -> None:
    settings = {"conflicts.prefer.clusters": "eu", "conflicts.crdt.fields": "likes: counter"}
    made = {name: make_resolver({**settings, "conflicts.resolver": name}) for name in RULES}
    assert {name: type(rule).__name__ for name, rule in made.items()} == {
        "last-writer-wins": "LastWriterWins",
        "first-writer-wins": "FirstWriterWins",
        "prefer-cluster": "PreferCluster",
        "vector-clock": "VectorClock",
        "crdt": "CrdtMerge",
    }


def test_a_dotted_name_is_a_python_class() -> None:
    name = "heliograph.conflicts.resolvers.last_writer_wins.LastWriterWins"
    assert isinstance(make_resolver({"conflicts.resolver": name}), PythonClass)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"conflicts.resolver": "last-write-wins"}, r"did you mean last-writer-wins\?"),
        ({"conflicts.resolver": "x"}, "possible are last-writer-wins, first-writer-wins"),
        ({"conflicts.resolver": "prefer-cluster"}, r"prefer-cluster refuses its settings: conflicts\.prefer\.clusters"),
        ({"conflicts.resolver": "no.such.Class"}, "no module no"),
    ],
)
def test_what_is_wrong_is_said(settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(PluginError, match=complaint):
        make_resolver(settings)
