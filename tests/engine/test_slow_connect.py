"""A broker that takes connections and says nothing holds up none of the others that a lane reads from."""

from __future__ import annotations

import socket
import time

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.incoming import Incoming
from heliograph.kafka.fetching import FetchLimits, FetchPoint
from heliograph.kafka.network import Leader
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka


def test_others_are_read_while_a_broker_does_not_answer(
    primary: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = primary.bootstrap_servers
    topic = create_topic(servers, fresh_name("slow"), 2)
    raw.append(servers, TopicPartition(topic, 0), [raw.batch_of(numbered(5))])
    with socket.create_server(("127.0.0.1", 0)) as mute, raw.network(servers, topic) as (loop, network):
        network._addresses[99] = mute.getsockname()
        network._leaders[topic][1] = Leader(99, 0)
        monkeypatch.setattr(network, "look_up", lambda _: {})  # and stays the leader
        reader = Incoming(network, FetchLimits(max_wait_ms=50))
        began = time.monotonic()
        for number in range(2):
            reader.read(FetchPoint(topic, network.topic_id(topic), number, 0))
        answers = 0
        while time.monotonic() - began < 3.0:
            reader.fetch()
            loop.run_once(0.05)
            while reader.arrivals:
                answers += 1
                arrival = reader.arrivals.popleft()
                arrival.broker.looked_at(arrival)
        assert reader.adrift == {TopicPartition(topic, 1)}
        assert answers > 10, "the other partition waited too"
        reader.close()
