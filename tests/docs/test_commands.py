"""Every command of the documentation is one that the program takes, and somebody runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.exceptions import TyperException

from tests.docs import command_tree, results
from tests.docs.pages import ROOT, Block, Command, commands, commands_of, inline_commands
from tests.docs.stages import NEEDS_WHAT_IS_NOT_HERE, RUN_ELSEWHERE, classes, run_here

ALL = commands()


def test_every_call_of_the_program_can_be_parsed() -> None:
    faults = []
    for command in ALL:
        if command_tree.is_ours(command.program):
            try:
                command_tree.parse(command.words)
            except (TyperException, ValueError) as error:
                faults.append(f"{command.place}: {command}: {error}")
    assert not faults, "\n".join(faults)


def test_calls_in_the_midst_of_text_name_what_is_there() -> None:
    faults = []
    for command in inline_commands():
        try:
            command_tree.check_names(command.words)
        except ValueError as error:
            faults.append(f"{command.place}: {command}: {error}")
    assert not faults, "\n".join(faults)


def test_every_command_is_run_by_somebody() -> None:
    faults = [f"{command.place}: {command}: {classes(command)}" for command in ALL if len(classes(command)) != 1]
    assert not faults, "in no class of tests/docs/stages.py, or in several:\n" + "\n".join(faults)


@pytest.mark.parametrize("test", sorted(set(RUN_ELSEWHERE.values())))
def test_who_runs_it_elsewhere_is_there(test: str) -> None:
    assert (ROOT / test).is_file()


def test_no_class_is_for_commands_that_no_page_has() -> None:
    met = {pattern for command in ALL for pattern in classes(command)}
    assert RUN_ELSEWHERE.keys() <= met


def test_of_every_command_that_is_run_here_somebody_knows_what_it_is_for() -> None:
    looked_at = [command for command in run_here(ALL) if "run" not in command.words[:2]]
    faults = [
        f"{command.place}: {command}: {len(results.of(command))}"
        for command in looked_at
        if command.program != "connect-mirror-maker" and len(results.of(command)) != 1
    ]
    assert not faults, "in no row of tests/docs/results.py, or in several:\n" + "\n".join(faults)


def test_many_commands_are_found() -> None:
    assert len(ALL) > 80
    assert len(run_here(ALL)) > 30
    assert {Path(command.page).name for command in ALL} >= {"README.md", "quick-start.md", "operations.md", "rest.md"}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["heliograph", "stauts", "mm2.properties"], "no command stauts"),
        (["heliograph", "config", "chekc"], "no command chekc"),
        (["heliograph", "package"], "Missing parameter: folder"),
        (["heliograph", "status", "mm2.properties", "--follow"], "No such option"),
        (["heliograph", "verify", "mm2.properties", "-o", "xml"], "xml"),
        (["heliograph", "--verison"], "no option --verison"),
        (["connect-mirror-maker", "--clusters"], "--clusters"),
    ],
)
def test_a_call_that_is_wrong_is_noticed(words: list[str], fault: str) -> None:
    with pytest.raises((TyperException, ValueError), match=fault):
        command_tree.parse(words)


def test_a_name_that_is_not_there_is_noticed_among_placeholders() -> None:
    command_tree.check_names(["heliograph", "token", "NAME", "--role", "ROLE"])
    with pytest.raises(ValueError, match="no option --rolle"):
        command_tree.check_names(["heliograph", "token", "NAME", "--rolle", "ROLE"])


@pytest.mark.parametrize(
    ("kind", "lines", "found"),
    [
        ("", ["./heliograph demo   # look", "", "output of it"], [(7, "./heliograph demo")]),
        ("", ["$ heliograph lag a.properties", "heliograph says so"], [(7, "heliograph lag a.properties")]),
        ("", ["curl -X PUT \\", "http://localhost:8083/"], [(7, "curl -X PUT http://localhost:8083/")]),
        ("", ["A=b ./heliograph plan x"], [(7, "A=b ./heliograph plan x")]),
        ("", ["listeners = http://127.0.0.1:8083"], []),
        ("sh", ["unheard-of --thing"], [(7, "unheard-of --thing")]),
        ("sh", ["#!/bin/sh", "# move.sh", "curl x"], [(7, "sh move.sh")]),
        ("properties", ["curl = x"], []),
    ],
)
def test_commands_are_told_from_what_stands_around_them(
    kind: str, lines: list[str], found: list[tuple[int, str]]
) -> None:
    block = Block("page.md", kind, 7, tuple(lines))
    assert [(command.line, command.text) for command in commands_of(block)] == found


def test_a_command_of_no_class_or_two_is_noticed() -> None:
    assert classes(Command("page.md", 1, "heliograph fly")) == []
    assert len(classes(Command("page.md", 1, "heliograph bench --workloads a"))) == 1
    assert not set(RUN_ELSEWHERE) & set(NEEDS_WHAT_IS_NOT_HERE)
