"""An ordinary read_committed consumer of the copies, which reads all the time while parts of the mirror are killed."""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import kafka
from kafka import KafkaConsumer

from heliograph.model import TopicPartition
from tests.checker.stock_reader import CommittedReader, content_of
from tests.waiting import wait_until

_POLL_MS = 200


class ReaderBeside:
    """Reads the copies from their beginning, in a thread of its own, and remembers what came in which order."""

    def __init__(self, servers: str, copies: Iterable[TopicPartition]) -> None:
        """The partitions must be there already: it is told nothing of where to begin but the first offset."""
        self._servers = servers
        self._seen = {where: array("q") for where in copies}
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ReaderBeside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def expect_all_once(self, source: str, pairs: Mapping[TopicPartition, TopicPartition], seconds: float) -> int:
        """Wait until it has as many records as the source, which must be at rest; each must have come once, in order.

        Returns how many they are.
        """
        written = _written(source, pairs)
        wait_until(
            lambda: self._failure is not None or self._has_as_many(written), "the reader to have read all", seconds
        )
        if self._failure:
            raise self._failure
        wrong = [text for copy, marks in written.items() if (text := difference(marks, self._seen[copy]))]
        assert not wrong, "\n".join(wrong)
        return sum(map(len, written.values()))

    def _has_as_many(self, written: Mapping[TopicPartition, Sequence[int]]) -> bool:
        return all(len(self._seen[copy]) >= len(marks) for copy, marks in written.items())

    def _run(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",  # whatever moved it would be a finding
            reconnect_backoff_max_ms=500,
        )
        try:
            consumer.assign([kafka.TopicPartition(*where) for where in self._seen])
            for where in self._seen:
                consumer.seek(kafka.TopicPartition(*where), 0)
            while not self._stopping.is_set():
                for where, found in consumer.poll(_POLL_MS).items():
                    self._seen[TopicPartition(*where)].extend(hash(content_of(record)) for record in found)
        except Exception as error:  # told by `expect_all_once`
            self._failure = error
        finally:
            consumer.close()


def _written(source: str, pairs: Mapping[TopicPartition, TopicPartition]) -> dict[TopicPartition, array[int]]:
    """What the copies must hold; of each record only a hash."""
    with CommittedReader(source) as reader:
        return {
            copy: array("q", (hash(seen.content) for seen in reader.read_again(where))) for where, copy in pairs.items()
        }


def difference(written: Sequence[int], seen: Sequence[int]) -> str:
    """What is wrong with what was seen; empty if nothing is."""
    if list(written) == list(seen):
        return ""
    lost, repeated = Counter(written) - Counter(seen), Counter(seen) - Counter(written)
    common = zip(written, seen, strict=False)
    first = next((place for place, (one, other) in enumerate(common) if one != other), min(len(written), len(seen)))
    return (
        f"record {first} of {len(written)} is the first that differs: {lost.total()} were not seen, "
        f"{repeated.total()} once too often or unknown{'' if lost or repeated else ', the order is another'}"
    )
