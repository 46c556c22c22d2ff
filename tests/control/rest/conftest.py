"""What the tests of the REST server share: a book of what was audited."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.control.rest.serving import Lines


@pytest.fixture
def audited() -> Iterator[Lines]:
    """What the audit writes to the log."""
    lines, logger = Lines(), logging.getLogger("heliograph.audit")
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)
