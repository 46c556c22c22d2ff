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
