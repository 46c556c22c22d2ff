"""Java reads what our codecs wrote: Kafka's own client translates by it, Kafka's own formatters print it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from py4j.java_gateway import JavaGateway

from heliograph.client import OffsetAndMetadata
from heliograph.embedded.jvm import Jvm
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.oracle.java_client import java_offsets
from tests.oracle.mirrored import Mirrored
from tests.zoo import raw
from tests.zoo.topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

_CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_FORMATTERS = "org.apache.kafka.connect.mirror.formatters"
_TIME = 1_700_000_000_000


def write(mirrored: Mirrored, topic: str, *written: Heartbeat | Checkpoint | OffsetSync) -> None:
    """A new topic with these records."""
    create_topic(mirrored.south.bootstrap_servers, topic)
    records = [Record(0, _TIME, one.encode_key(), one.encode_value()) for one in written]
    raw.append(mirrored.south.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of(records)])


def printed(mirrored: Mirrored, folder: Path, topic: str, formatter: str) -> list[str]:
    """The first record of a topic as the console consumer shows it."""
    command = Jvm.prepare().command(
        folder, _CONSOLE, "--bootstrap-server", mirrored.south.bootstrap_servers, "--topic", topic,
        "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000",
        "--formatter", f"{_FORMATTERS}.{formatter}", heap="128m",
    )  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    logged = re.compile(r"\[|\*")  # to the same place
    return [line for line in ended.stdout.splitlines() if not logged.match(line)]


def test_java_translates_by_our_checkpoints(mirrored: Mirrored, java: JavaGateway) -> None:
    first, second = TopicPartition("ours.parcels", 0), TopicPartition("ours.parcels", 1)
    write(
        mirrored,
        "ours.checkpoints.internal",
        Checkpoint("shipping", first, 10, 20, "early"),
        Checkpoint("shipping", second, 2**40, 2**41),
        Checkpoint("other", first, 1, 1),
        Checkpoint("shipping", first, 100, 110, "Zürich"),
    )
    settings = {"bootstrap.servers": mirrored.south.bootstrap_servers}
    assert java_offsets(java, settings, "ours", "shipping") == {
        first: OffsetAndMetadata(110, "Zürich"),
        second: OffsetAndMetadata(2**41, ""),
    }


_WHERE = TopicPartition("parcels", 3)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            Heartbeat("north", "south", _TIME),
            f"Heartbeat{{sourceClusterAlias=north, targetClusterAlias=south, timestamp={_TIME}}}",
        ),
        (
            Checkpoint("shipping", _WHERE, 100, 110, "meta"),
            "Checkpoint{consumerGroupId=shipping, topicPartition=parcels-3, upstreamOffset=100, "
            "downstreamOffset=110, metadata=meta}",
        ),
        (
            OffsetSync(_WHERE, 100, 110),
            "OffsetSync{topicPartition=parcels-3, upstreamOffset=100, downstreamOffset=110}",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_javas_formatters_print_our_records(
    mirrored: Mirrored, tmp_path: Path, record: Heartbeat | Checkpoint | OffsetSync, text: str
) -> None:
    kind = type(record).__name__
    write(mirrored, f"printed-{kind}", record)
    assert printed(mirrored, tmp_path, f"printed-{kind}", f"{kind}Formatter") == [text]
