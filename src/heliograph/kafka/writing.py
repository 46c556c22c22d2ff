"""Writes a few records of our own, outside any transaction, and waits until they are safe."""

from __future__ import annotations

from collections.abc import Sequence

from heliograph.errors import BrokerRefused
from heliograph.kafka import producing, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import LEADER_CHANGES, Network, error_name
from heliograph.kafka.patience import Patience
from heliograph.kafka.producing import Appended, Batch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_ALL_REPLICAS = -1


def append(loop: Loop, network: Network, where: TopicPartition, written: Sequence[Record]) -> int:
    """Append records, acknowledged by all replicas in sync; returns the offset of the first."""
    patience = Patience()
    while True:
        answer = _send(loop, network, where, written)
        if not answer.error_code:
            return answer.base_offset
        # A new topic is known a little earlier than its leader is ready.
        if answer.error_code not in LEADER_CHANGES or not patience.wait():
            raise BrokerRefused(f"{network.access.alias} {where}", answer.error_code, error_name(answer.error_code))
        network.refresh([where.topic])


def _send(loop: Loop, network: Network, where: TopicPartition, written: Sequence[Record]) -> Appended:
    connection = network.connection(network.leader(*where).broker_id)
    batch = Batch(*where, records.encode_own(written))
    version = connection.version(producing.API_KEY, producing.HIGHEST_VERSION, producing.LOWEST_VERSION)
    body = producing.encode([batch], None, _ALL_REPLICAS, network.access.request_timeout_ms)
    answers: list[Appended] = []
    connection.send(producing.API_KEY, version, True, body, lambda body: answers.extend(producing.decode(body)[0]))
    loop.run_until(lambda: bool(answers))
    return answers[0]
