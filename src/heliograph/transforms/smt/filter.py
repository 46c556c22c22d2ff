"""Drops messages."""

from __future__ import annotations

from heliograph.transforms.message import Message
from heliograph.transforms.stage import Transform


class Filter(Transform):
    """Drops every message that it gets; a predicate says which ones it gets."""

    may_reroute = False
    drops_all = True

    def apply(self, message: Message) -> None:
        """Nothing is left of a message."""
        return
