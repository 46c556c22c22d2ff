"""A load whose offsets have gaps: half of the records are written in transactions, of which every third is aborted."""

from __future__ import annotations

import random
import threading
from contextlib import closing

from kafka import KafkaProducer

_PAUSE_SECONDS = 0.05
_RECORDS_A_ROUND = 12
_FIRST_ROUNDS = 5


class TransactionalLoad:
    """Writes with stock producers, in a thread, so many rounds: a few at once, the others when told; no value twice."""

    def __init__(self, servers: str, topic: str, partitions: int, rounds: int, chance: random.Random) -> None:
        self.kept: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
        self._servers = servers
        self._topic = topic
        self._rounds = rounds
        self._chance = chance
        self._done = 0
        self._may_go_on = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def written(self) -> int:
        """How many records consumers of committed data can see."""
        return sum(map(len, self.kept.values()))

    @property
    def progress(self) -> float:
        """The share of the rounds that is done."""
        return 1.0 if self._failure else self._done / self._rounds

    def __enter__(self) -> TransactionalLoad:
        self._thread.start()
        return self

    def go_on(self) -> None:
        """Write the other rounds too."""
        self._may_go_on.set()

    def __exit__(self, *_: object) -> None:
        """Wait for the last round; fails if any record could not be written."""
        self.go_on()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._write()
        except Exception as error:  # the thread has nobody to raise to: the end of the load does
            self._failure = error

    def _write(self) -> None:
        plain = KafkaProducer(bootstrap_servers=self._servers, acks="all")
        transactional = KafkaProducer(bootstrap_servers=self._servers, transactional_id=f"load-{self._topic}")
        pause = threading.Event()
        with closing(plain), closing(transactional):
            transactional.init_transactions()
            while self._done < self._rounds:
                if self._done == _FIRST_ROUNDS:
                    self._may_go_on.wait()
                self._write_round(plain, transactional)
                self._done += 1
                pause.wait(_PAUSE_SECONDS)

    def _write_round(self, plain: KafkaProducer, transactional: KafkaProducer) -> None:
        self._keep(self._send(plain, f"plain {self._done}"))
        transactional.begin_transaction()
        sent = self._send(transactional, f"transaction {self._done}")
        if self._done % 3 == 2:
            transactional.abort_transaction()
        else:
            transactional.commit_transaction()
            self._keep(sent)

    def _send(self, producer: KafkaProducer, name: str) -> list[tuple[int, bytes]]:
        """One round over random partitions, acknowledged before it returns."""
        sent = [
            (self._chance.randrange(len(self.kept)), f"{name} record {index}".encode())
            for index in range(_RECORDS_A_ROUND)
        ]
        futures = [producer.send(self._topic, value, partition=partition) for partition, value in sent]
        producer.flush()
        for future in futures:
            future.get(10)
        return sent

    def _keep(self, sent: list[tuple[int, bytes]]) -> None:
        for partition, value in sent:
            self.kept[partition].append(value)
