"""What shares fixtures stays together, and what takes longest begins first."""

from __future__ import annotations

import os

import pytest

from tests.running import durations, sharing


class _Item:
    def __init__(self, nodeid: str, *markers: str) -> None:
        self.nodeid = nodeid
        self._markers = markers

    def get_closest_marker(self, name: str) -> str | None:
        """The marker of that name."""
        return name if name in self._markers else None


def test_a_module_is_a_group_and_so_is_a_folder_whose_tests_share_a_fixture() -> None:
    assert sharing.group_of("tests/policy/test_filters.py::test_a[x::y]") == "tests/policy/test_filters.py"
    assert sharing.group_of("tests/conformance/test_options.py::test_a") == "tests/conformance"
    assert sharing.group_of("tests/conformance/test_variants.py::test_b") == "tests/conformance"


def test_the_longest_group_begins_and_tests_keep_their_order_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durations, "known", lambda: {"tests/a/test_short.py": 2.0, "tests/a/test_long.py": 90.0})
    items = [
        _Item("tests/a/test_short.py::test_1"),
        _Item("tests/a/test_new.py::test_1", "kafka"),
        _Item("tests/a/test_pure.py::test_1"),
        _Item("tests/a/test_long.py::test_2"),
        _Item("tests/a/test_long.py::test_1"),
    ]
    sharing.dearest_first(items)  # type: ignore[arg-type]
    assert [item.nodeid.removeprefix("tests/a/") for item in items] == [
        "test_long.py::test_2",
        "test_long.py::test_1",
        "test_new.py::test_1",
        "test_short.py::test_1",
        "test_pure.py::test_1",
    ]


_HEAVY = [f"tests/chaos/test_{name}.py::test_{part}" for name in ("kills", "soak", "spark", "two_way") for part in "ab"]
_LIGHT = [f"tests/policy/test_{name}.py::test_{part}" for name in ("filters", "plugins") for part in "ab"]


_CORES = 2


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "CORES", _CORES)


class _Config:
    """As much of pytest's settings as the sharing of tests asks for."""

    def __init__(self, workers: int) -> None:
        self.option = self
        self._workers = workers

    def getvalue(self, _: str) -> list[str]:
        """The workers."""
        return ["popen"] * self._workers


class _Worker:
    """Takes note of the tests that it is given."""

    def __init__(self, number: int) -> None:
        self.gateway = self
        self.id = f"gw{number}"
        self.given: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        """What to run next."""
        assert not self.shutting_down
        self.given += indices

    def shutdown(self) -> None:
        """No more tests."""
        self.shutting_down = True


def _shared_out(tests: list[str], count: int) -> list[list[str]]:
    """The tests that each worker gets if all of them take equally long."""
    plan = sharing.Sharing(_Config(count), None)  # type: ignore[arg-type]
    workers = [_Worker(number) for number in range(count)]
    for worker in workers:
        plan.add_node(worker)  # type: ignore[arg-type]
        plan.add_node_collection(worker, tests)  # type: ignore[arg-type]
    plan.schedule()
    for turn in range(len(tests)):
        for worker in workers:
            if turn < len(worker.given):
                plan.mark_test_complete(worker, worker.given[turn])  # type: ignore[arg-type]
    assert plan.tests_finished
    return [[tests[index] for index in worker.given] for worker in workers]


def test_one_worker_more_than_cores_takes_the_tests_without_brokers_and_no_others() -> None:
    *others, filler = _shared_out([*_HEAVY, *_LIGHT], _CORES + 1)
    assert set(filler) == set(_LIGHT)
    assert sorted(test for tests in others for test in tests) == sorted(_HEAVY)


def test_the_others_take_those_too_and_every_test_is_run_once() -> None:
    tests = [*_HEAVY, *_LIGHT, *(f"tests/running/test_runs.py::test_{number}" for number in range(40))]
    given = _shared_out(tests, _CORES + 1)
    assert sorted(test for some in given for test in some) == sorted(tests)
    assert _shared_out(tests, 1) == [tests]


def test_without_light_tests_that_worker_ends_at_once() -> None:
    assert _shared_out(_HEAVY, _CORES + 1)[-1] == []


@pytest.mark.parametrize(("workers", "yielding"), [(_CORES, []), (_CORES + 1, [_CORES])])
def test_only_the_additional_worker_yields(monkeypatch: pytest.MonkeyPatch, workers: int, yielding: list[int]) -> None:
    niceness: list[int] = []
    monkeypatch.setattr(os, "nice", niceness.append)
    nicer = []
    for number in range(workers):
        sharing.yield_to_others({"workerid": f"gw{number}", "workercount": workers})
        if niceness:
            nicer.append(number)
            niceness.clear()
    assert nicer == yielding
