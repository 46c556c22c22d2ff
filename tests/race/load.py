"""A load whose offsets have gaps: half of the records are written in transactions, of which every third is aborted."""

from __future__ import annotations

import random
import threading
from contextlib import closing

from kafka import KafkaProducer

_PAUSE_SECONDS = 0.05
_RECORDS_A_ROUND = 12


class TransactionalLoad:
    """Writes with stock producers, in a thread, until it is stopped; no value comes twice."""

    def __init__(self, servers: str, topic: str, partitions: int, chance: random.Random) -> None:
        self.kept: dict[int, list[bytes]] = {number: [] for number in range(partitions)}
        self._servers = servers
        self._topic = topic
        self._chance = chance
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def written(self) -> int:
        """How many records consumers of committed data can see."""
        return sum(map(len, self.kept.values()))

    def __enter__(self) -> TransactionalLoad:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No more records after this; fails if any could not be written."""
        self._stopping.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._write()
        except Exception as error:  # the thread has nobody to raise to: `stop` does
            self._failure = error

    def _write(self) -> None:
        plain = KafkaProducer(bootstrap_servers=self._servers, acks="all")
        transactional = KafkaProducer(bootstrap_servers=self._servers, transactional_id=f"load-{self._topic}")
        with closing(plain), closing(transactional):
            transactional.init_transactions()
            number = 0
            while not self._stopping.wait(_PAUSE_SECONDS):
                sent = self._send(plain, f"plain {number}")
                self._keep(sent)
                transactional.begin_transaction()
                sent = self._send(transactional, f"transaction {number}")
                if number % 3 == 2:
                    transactional.abort_transaction()
                else:
                    transactional.commit_transaction()
                    self._keep(sent)
                number += 1

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
