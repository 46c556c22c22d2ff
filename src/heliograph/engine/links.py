"""What a lane has learned of the way to each broker; it outlives a session that ended since too much was under way."""

from __future__ import annotations

import sys

from heliograph.engine.window import Window

_FIRST_ANSWER = 1024 * 1024  # bytes, of all lanes together
_LEAST_ANSWER = 64 * 1024
_SLOW_SECONDS = 4.0  # until an answer is there: a transaction waits meanwhile, and ends in a few times as long
_GOOD_SECONDS = 2.0
_QUICK_SECONDS = 1.0


class AnswerSize:
    """The bytes to ask a broker for at a time: what the link brings within seconds, as far as answers tell."""

    def __init__(self, first: int = sys.maxsize) -> None:
        self.most = max(_LEAST_ANSWER, first)

    def answered(self, size: int, seconds: float, wanted: int) -> None:
        """So many bytes have come within so many seconds; with quick answers more is asked for, up to what is wanted.

        Also an answer that waited behind others in our own process counts as slow: whoever is so busy needs no more.
        """
        if seconds > _SLOW_SECONDS:
            self.most = max(_LEAST_ANSWER, min(self.most, int(size / seconds * _GOOD_SECONDS)))
        elif seconds < _QUICK_SECONDS and 2 * size >= self.most:
            self.most = max(self.most, min(2 * self.most, wanted))


class Links:
    """The ways from one lane to the brokers of its source and of its target; `lanes` share them."""

    def __init__(self, lanes: int = 1) -> None:
        self._lanes = lanes
        self._windows: dict[int, Window] = {}
        self._answer_sizes: dict[int, AnswerSize] = {}

    def window(self, broker_id: int) -> Window:
        """What may be on its way to a broker of the target."""
        return self._windows.setdefault(broker_id, Window(self._lanes))

    def answer_size(self, broker_id: int) -> AnswerSize:
        """What to ask a broker of the source for."""
        return self._answer_sizes.setdefault(broker_id, AnswerSize(_FIRST_ANSWER // self._lanes))
