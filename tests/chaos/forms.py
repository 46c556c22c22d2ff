"""Tests in two forms: a short one that every change must pass, and a long one that runs with `./test --long`."""

from __future__ import annotations

import pytest

LONG = [pytest.mark.long, pytest.mark.timeout(1800)]


def short_and_long(name: str, short: object, long: object) -> pytest.MarkDecorator:
    """Gives a test its first value always, and its second one among the long tests."""
    return pytest.mark.parametrize(name, [pytest.param(short, id="short"), pytest.param(long, id="long", marks=LONG)])
