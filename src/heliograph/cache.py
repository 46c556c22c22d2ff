"""Where things that are expensive to make or fetch are kept between runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder for this program."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "heliograph")


@contextmanager
def alone_with(file: Path) -> Iterator[None]:
    """Two processes that start at once must not make the same file: the second waits, and then finds it."""
    with open(file.with_name(f"{file.name}.lock"), "w") as handle:
        flock(handle, LOCK_EX)
        yield
