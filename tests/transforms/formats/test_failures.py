"""What did not work a moment ago."""

from __future__ import annotations

import pytest

from heliograph.errors import DataError, RetryLater
from heliograph.transforms.formats import failures
from heliograph.transforms.formats.failures import FailureBook


def failing(book: FailureBook, key: str, tries: list[str]) -> None:
    with book.attempt(key):
        tries.append(key)
        raise DataError("broken")


def test_what_failed_is_told_again_without_a_try() -> None:
    book = FailureBook()
    tries: list[str] = []
    for key in ("x", "x", "y"):
        with pytest.raises(DataError, match="broken"):
            failing(book, key, tries)
    assert tries == ["x", "y"]


def test_what_may_work_in_a_moment_is_tried_again() -> None:
    book = FailureBook()
    with pytest.raises(RetryLater), book.attempt("x"):
        raise RetryLater("away")
    with book.attempt("x"):
        pass


def test_failures_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    book = FailureBook()
    with pytest.raises(DataError), book.attempt("x"):
        raise DataError("broken")
    monkeypatch.setattr(failures, "FORGET_SECONDS", 0.0)
    with book.attempt("x"):
        pass
