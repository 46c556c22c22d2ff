"""Every command of the README works as it stands there, from the installed package; only names are other ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.monitor.receivers import running_hook
from tests.package.distributions import ROOT, Distributions
from tests.package.environment import Environment, by_the_readme
from tests.package.readme import command_lines, install_lines, readme_lines
from tests.package.tour import Tour
from tests.programs import program

Act = Callable[[Tour, ExitStack, str], None]

_FLOW = "--flow 'primary->backup'"
_CONNECTOR = "localhost:8083/connectors/MirrorSourceConnector"
_INTERRUPTED = 130
_DRY_RUN = " --dry-run"  # what they do, when they do it, is tested where ELSEWHERE says
THIS_RUN = "./test"
ELSEWHERE: Mapping[str, str] = {
    "./heliograph demo": "tests/demo/test_demo.py::test_its_page_answers_until_ctrl_c_ends_it_with_the_report",
    f"./heliograph switchover mm2.properties {_FLOW}": (
        "tests/recovery/test_switchover.py::test_nothing_is_lost_or_repeated_under_load"
    ),
    f"./heliograph failover mm2.properties {_FLOW}": (
        "tests/recovery/test_failover.py::test_a_source_that_dies_under_load"
    ),
    f"./heliograph failback mm2.properties {_FLOW}": "tests/recovery/test_failback.py::test_there_and_back_again",
    "./heliograph drill --for-real": (
        "tests/recovery/test_drill_for_real.py::test_every_record_is_accounted_for_and_no_group_skips"
    ),
}


def _shows(text: str) -> Act:
    return lambda tour, _, line: tour.shows(line, text)


def _previews(text: str) -> Act:
    """On a flow that runs and has mirrored all, nothing stands in the way."""

    def preview(tour: Tour, _: ExitStack, line: str) -> None:
        tour.await_calm()
        tour.shows(line + _DRY_RUN, f"{text}: it can begin")

    return preview


def _mirrors(tour: Tour, _: ExitStack, line: str) -> None:
    with tour.mirroring(line):
        pass


def _mirrors_from_now_on(tour: Tour, stack: ExitStack, line: str) -> None:
    stack.enter_context(tour.mirroring(line))
    tour.await_state("RUNNING")


def _pauses(tour: Tour, _: ExitStack, line: str) -> None:
    tour.shows(line, "")
    tour.await_state("PAUSED")
    tour.shows(line.replace("pause", "resume"), "")
    tour.await_state("RUNNING")


def _masks(tour: Tour, _: ExitStack, line: str) -> None:
    tour.add_to_file("transforms = mask", "transforms.mask.type = MaskPII", "transforms.mask.fields = email")
    tour.shows(line, "an***********om")


def _looks_for_conflicts(tour: Tour, _: ExitStack, line: str) -> None:
    tour.add_to_file("conflicts.topics = orders")
    tour.shows(line, "backup: ")


ACTS: Mapping[str, Act] = {
    "./heliograph config check mm2.properties": _shows("flow primary->backup"),
    f"./heliograph config explain mm2.properties {_FLOW}": _shows("orders"),
    "./heliograph config reference --scope source": _shows("topics.exclude"),
    "./heliograph check mm2.properties": _shows("primary->backup: ok"),
    "./heliograph plan mm2.properties": _shows("primary.orders"),
    "./heliograph run mm2.properties": _mirrors,
    "./heliograph run mm2.properties --clusters dr": _mirrors,
    "./heliograph status mm2.properties --watch": (
        lambda tour, _, line: tour.shows_until_stopped(line, "up to date", codes=(_INTERRUPTED,))
    ),
    "./heliograph lag mm2.properties -o json": _shows('"lag_records": 0'),
    f"./heliograph offsets translate mm2.properties {_FLOW}": _shows("primary.orders"),
    "./heliograph run mm2.properties --rest": _mirrors_from_now_on,
    f"curl -s {_CONNECTOR}/status": _shows('"RUNNING"'),
    f"curl -X PUT {_CONNECTOR}/pause": _pauses,
    "./heliograph monitor mm2.properties --threshold 10000 --alertmanager http://localhost:9093": (
        lambda tour, _, line: tour.shows_until_stopped(line, "orders")
    ),
    "./heliograph verify mm2.properties --since 1h": _shows("primary->backup: equal"),
    f"./heliograph switchover mm2.properties {_FLOW}": _previews("dry run of switchover primary->backup"),
    f"./heliograph failover mm2.properties {_FLOW}": _previews("dry run of failover primary->backup"),
    f"./heliograph failback mm2.properties {_FLOW}": _previews("dry run of failback primary->backup"),
    "./heliograph transform list MaskPII": _shows("mask.char"),
    f"./heliograph transform try mm2.properties {_FLOW} --topic orders --offset 1500": _masks,
    "./heliograph conflicts mm2.properties --since 1h": _looks_for_conflicts,
}
# Lines that start a mirror, which must then mirror what is written.
MIRRORING = tuple(line for line, act in ACTS.items() if act in (_mirrors, _mirrors_from_now_on))


def test_comments_and_screens_are_no_commands() -> None:
    text = "```\n./one 'a->b'   # why\n\n./two\n```\ntext\n```\n╭─ screen ─╮\n```\n```properties\nkey = value\n```\n"
    assert command_lines(text) == ["./one 'a->b'", "./two"]


def test_every_line_has_its_test() -> None:
    assert set(readme_lines()) == {*ACTS, *ELSEWHERE, *install_lines(), THIS_RUN}
    assert len(install_lines()) == 4


@pytest.mark.parametrize("place", ELSEWHERE.values())
def test_what_is_tested_elsewhere_is_really_there(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text()


@pytest.fixture(params=["beside this environment", "clean"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    """The package, once where all that it needs is borrowed, and once where a reader has installed everything."""
    if request.param != "clean":
        borrowed: Environment = request.getfixturevalue("installed")
        return borrowed
    distributions: Distributions = request.getfixturevalue("distributions")
    folder = tmp_path / "reader"
    folder.mkdir()
    return by_the_readme(folder, distributions.wheel, install_lines())


@pytest.fixture
def tour(
    environment: Environment, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> Iterator[Tour]:
    """A reader with two clusters and somebody to alert."""
    program("curl", "curl")
    folder = tmp_path / "tour"
    folder.mkdir()
    with running_hook() as hook:
        yield Tour(environment, cluster_pair, folder, int(hook.url.rpartition(":")[2]))


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_tour_of_the_readme(tour: Tour) -> None:
    with ExitStack() as running:
        for line in readme_lines():
            if act := ACTS.get(line):
                act(tour, running, line)
