"""What traces of a producer in a log tell of one of its transactions."""

from __future__ import annotations

import pytest

from heliograph.kafka.transaction_ends import Account, Trace, account_of

COMMIT, ABORT = True, False


def data(epoch: int) -> Trace:
    return Trace(epoch)


def end(epoch: int, commits: bool) -> Trace:
    return Trace(epoch, commits)


@pytest.mark.parametrize(
    ("traces", "told"),
    [
        ([], Account(None, False)),
        ([data(5), end(6, COMMIT)], Account(True, False)),
        ([data(5), end(6, ABORT), data(6), end(7, COMMIT)], Account(False, False)),
        ([end(6, COMMIT), data(6), end(7, ABORT)], Account(True, False)),
        ([data(4), end(5, COMMIT), data(5), end(6, ABORT)], Account(False, True)),
        ([data(4), end(5, COMMIT)], Account(None, True)),
        ([data(4), end(5, COMMIT), data(7), end(8, ABORT)], Account(None, True)),
        ([data(7), end(8, COMMIT)], Account(None, False)),
        ([end(8, COMMIT)], Account(None, False)),
        ([data(5), end(9, ABORT)], Account(False, False)),
        ([data(5), data(8), end(9, COMMIT)], Account(None, False)),
        ([data(5), end(5, COMMIT)], Account(True, False)),
        ([data(5), end(5, ABORT), data(5), end(5, COMMIT), end(6, ABORT)], Account(False, False)),
        ([data(5), end(5, COMMIT), data(6), end(6, ABORT)], Account(True, False)),
        ([end(5, COMMIT)], Account(None, False)),
    ],
    ids=[
        "nothing", "next epoch", "a later one after it", "only its end", "an earlier one before it",
        "only an earlier one",
        "earlier and later ones", "only a later one", "only a later end", "an end some epochs later", "a forgotten end",
        "same epoch", "same epoch, then fenced", "same epoch, then a later one", "an end of the same epoch without it",
    ],
)  # fmt: skip
def test_the_end_of_the_fifth_epoch(traces: list[Trace], told: Account) -> None:
    assert account_of(traces, 5) == told
