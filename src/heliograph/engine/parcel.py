"""Something for a process of Spark, secrets included: it travels pickled and is never printed."""

from __future__ import annotations

import pickle
from typing import Self


class Parcel:
    """Packed by the driver, for the way through Spark's planning processes, which need not know what is inside."""

    def packed(self) -> bytes:
        """As it travels."""
        return pickle.dumps(self)

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """The same again, in the process that it is meant for."""
        found = pickle.loads(data)  # noqa: S301 - comes from our own driver, over a guarded connection
        assert isinstance(found, cls)
        return found
