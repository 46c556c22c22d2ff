"""What programs need that tests of commands start."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def control_c() -> Iterator[None]:
    """Programs hear Ctrl-C, also where the tests run in the background of a shell: there they would be deaf to it.

    A shell without job control has SIGINT ignored by what it starts in the background, and programs inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
