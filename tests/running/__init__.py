"""How tests are run: chance, evidence, and who runs what."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
