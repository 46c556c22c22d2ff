"""Offset maps that follow real ledgers, and translations that stay within what a target has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import kafka
import pytest
from kafka import KafkaAdminClient

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.ledger.offset_map import Place
from heliograph.model import TopicPartition
from heliograph.sync import translation
from heliograph.sync.ledger_reader import LedgerReader
from heliograph.sync.topics import flow_topics, ledger_topic
from heliograph.sync.translation import Ledgers, Translation, Translator, offset_map_of
from tests.sync.moving import Moving, make_moving, produce
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka


@pytest.fixture
def orders(primary: EmbeddedCluster) -> TopicPartition:
    return TopicPartition(create_topic(primary.bootstrap_servers, fresh_name("read")), 0)


@pytest.fixture
def moving(
    orders: TopicPartition,
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster],
    tmp_path_factory: pytest.TempPathFactory,
) -> Moving:
    """A flow of this topic alone."""
    return make_moving(tmp_path_factory.mktemp("reader"), cluster_pair, orders.topic)


@pytest.fixture
def admins(moving: Moving) -> Iterator[tuple[Admin, Admin]]:
    source, target = access_for(moving.flow.source, "admin"), access_for(moving.flow.target, "admin")
    with Admin(source) as one, Admin(target) as other:
        yield one, other


def reader_of(moving: Moving) -> LedgerReader:
    flow = moving.flow
    target = access_for(flow.target, "consumer")
    return LedgerReader(target, moving.name, flow_topics(flow))


def translated(moving: Moving, admins: tuple[Admin, Admin], where: TopicPartition, offset: int) -> Translation:
    translator = Translator(moving.flow, None)
    translator.read(*admins)
    return translator.translate([(where, offset)], *admins)[where, offset]


def test_a_map_follows_the_ledger(moving: Moving, orders: TopicPartition) -> None:
    reader = reader_of(moving)
    assert not reader.read({})
    produce(moving.source, orders, range(10))
    moving.mirror()
    assert reader.read({})
    assert reader.offset_map.to_target(orders, 4) == Place(4, True)
    produce(moving.source, orders, range(10))
    moving.mirror()
    assert reader.offset_map.to_target(orders, 14) == Place(10, False)
    assert reader.read({})
    assert reader.offset_map.to_target(orders, 14) == Place(15, True)


def test_what_a_mirror_of_this_process_has_read_is_not_read_again(
    moving: Moving, orders: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(moving.source, orders, range(10))
    moving.mirror()
    shared = Ledgers(of_mirror=True).of(moving.flow)
    shared.read({})
    produce(moving.source, orders, range(10))
    moving.mirror()
    with monkeypatch.context() as patch:
        patch.setattr(translation, "ledger_reader", None)  # nobody makes another one
        found = offset_map_of(moving.flow, {orders})
    assert found.to_target(orders, 14) == Place(15, True)
    produce(moving.source, orders, range(10))
    moving.mirror()
    shared.read({})
    assert shared.offset_map.to_target(orders, 24) == Place(26, True)
    assert found.to_target(orders, 24) == Place(21, False)
    del shared
    assert offset_map_of(moving.flow, {orders}).to_target(orders, 24) == Place(26, True)


def test_a_ledger_that_was_cut_short_leaves_the_end_exact_by_the_position(
    moving: Moving, orders: TopicPartition, admins: tuple[Admin, Admin]
) -> None:
    produce(moving.source, orders, range(10))
    moving.mirror()
    delete_records(moving.target, TopicPartition(ledger_topic(moving.flow), 0))
    assert translated(moving, admins, orders, 10).offset == 10
    assert translated(moving, admins, orders, 10).is_exact
    assert not translated(moving, admins, orders, 4).is_exact
    assert translated(moving, admins, orders, 4).offset == 0


def test_entries_that_were_deleted_unread_leave_a_gap_that_nobody_answers_for(
    moving: Moving, orders: TopicPartition
) -> None:
    reader = reader_of(moving)
    produce(moving.source, orders, range(10))
    moving.mirror()
    reader.read({})
    produce(moving.source, orders, range(10))
    moving.mirror()
    delete_records(moving.target, TopicPartition(ledger_topic(moving.flow), 0))
    produce(moving.source, orders, range(10))
    moving.mirror(takes_over=False)
    reader.read({})
    assert reader.offset_map.to_target(orders, 5) == Place(5, True)
    assert reader.offset_map.to_target(orders, 15) == Place(10, False)
    assert reader.offset_map.to_target(orders, 25) == Place(27, True)


def test_what_the_target_has_deleted_becomes_its_first_offset(
    moving: Moving, orders: TopicPartition, admins: tuple[Admin, Admin]
) -> None:
    produce(moving.source, orders, range(10))
    moving.mirror()
    home = TopicPartition(f"{moving.name}.{orders.topic}", 0)
    delete_records(moving.target, home, 6)
    assert translated(moving, admins, orders, 2) == Translation(home, 6, True)
    assert translated(moving, admins, orders, 8) == Translation(home, 8, True)


def test_a_target_created_anew_never_gets_offsets_past_its_end(
    moving: Moving, orders: TopicPartition, admins: tuple[Admin, Admin]
) -> None:
    produce(moving.source, orders, range(10))
    moving.mirror()
    home = TopicPartition(f"{moving.name}.{orders.topic}", 0)
    recreate(moving.target, home.topic, admins[1])
    assert translated(moving, admins, orders, 8) == Translation(home, 0, False)


def test_a_source_topic_created_anew_is_not_taken_for_the_old_one(
    moving: Moving, orders: TopicPartition, admins: tuple[Admin, Admin]
) -> None:
    produce(moving.source, orders, range(10))
    moving.mirror()
    recreate(moving.source, orders.topic, admins[0])
    found = translated(moving, admins, orders, 3)
    assert (found.offset, found.is_exact) == (10, False)


def test_a_partition_that_was_never_mirrored_begins_at_the_end_of_an_empty_target(
    moving: Moving, orders: TopicPartition, admins: tuple[Admin, Admin]
) -> None:
    moving.mirror()
    home = TopicPartition(f"{moving.name}.{orders.topic}", 0)
    assert translated(moving, admins, orders, 0) == Translation(home, 0, True, is_known=False)
    produce(moving.source, orders, range(10))
    assert translated(moving, admins, orders, 7) == Translation(home, 0, False, is_known=False)


def delete_records(bootstrap_servers: str, where: TopicPartition, before: int = -1) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.delete_records({kafka.TopicPartition(*where): before})


def recreate(bootstrap_servers: str, topic: str, admin: Admin) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as client:
        client.delete_topics([topic])
    wait_until(lambda: not admin.topics([topic]), "the topic to be gone")
    create_topic(bootstrap_servers, topic)
