"""When a change of the cluster's size is believed."""

from __future__ import annotations

from heliograph.engine.slots import SteadySlots

ENOUGH = 8


class Cluster:
    """A size and a time, both ours to say."""

    def __init__(self) -> None:
        self.size, self.now = 0, 0.0
        self.slots = SteadySlots(lambda: self.size, ENOUGH, lambda: self.now)

    def after(self, seconds: float, size: int) -> int | None:
        """Look once a second until then; the size that is believed at the end, if that is new."""
        self.size = size
        changes = []
        for _ in range(round(seconds)):
            self.now += 1
            if self.slots.changed():
                changes.append(self.slots.believed)
        return changes[-1] if changes else None


def test_nothing_is_believed_while_there_is_no_executor() -> None:
    cluster = Cluster()
    assert cluster.after(100, 0) is None
    assert cluster.slots.believed == 0


def test_executors_that_come_one_by_one_are_waited_for() -> None:
    cluster = Cluster()
    assert cluster.after(1, 2) is None
    assert cluster.after(1, 4) is None
    assert cluster.after(3, 6) == 6


def test_enough_is_believed_at_once() -> None:
    cluster = Cluster()
    assert cluster.after(1, ENOUGH + 3) == ENOUGH


def test_an_executor_that_is_replaced_at_once_changes_nothing() -> None:
    cluster = Cluster()
    cluster.after(3, 6)
    assert cluster.after(3, 3) is None
    assert cluster.after(20, 6) is None


def test_a_loss_that_lasts_is_believed_and_so_is_the_way_back() -> None:
    cluster = Cluster()
    cluster.after(3, 6)
    assert cluster.after(4, 3) == 3
    assert cluster.after(7, 6) is None
    assert cluster.after(2, 6) == 6


def test_the_loss_of_everything_is_waited_out() -> None:
    cluster = Cluster()
    cluster.after(3, 6)
    assert cluster.after(60, 0) is None
    assert cluster.slots.believed == 6
