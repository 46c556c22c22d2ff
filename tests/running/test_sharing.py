"""What shares fixtures stays together, and what takes longest begins first."""

from __future__ import annotations

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


def test_every_test_is_run_once_and_all_of_a_group_by_one_worker() -> None:
    tests = [*_HEAVY, *_LIGHT, *(f"tests/running/test_runs.py::test_{number}" for number in range(40))]
    given = _shared_out(tests, 3)
    assert sorted(test for some in given for test in some) == sorted(tests)
    groups = [{sharing.group_of(test) for test in some} for some in given]
    assert sum(len(names) for names in groups) == len(set().union(*groups))
    assert _shared_out(tests, 1) == [tests]


def test_each_worker_begins_with_one_of_the_first_groups() -> None:
    given = _shared_out([*_HEAVY, *_LIGHT], 3)
    assert [tests[0] for tests in given] == _HEAVY[:6:2]
