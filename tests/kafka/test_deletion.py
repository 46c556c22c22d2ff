"""Deleting topics on a real cluster."""

from __future__ import annotations

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.deletion import delete_topics
from heliograph.kafka.topics import Status
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka


def test_topics_go_and_those_that_are_gone_are_fine(primary: EmbeddedCluster) -> None:
    access = Access("primary", primary.bootstrap_servers.split(","))
    goes = create_topic(primary.bootstrap_servers, fresh_name("goes"))
    stays = create_topic(primary.bootstrap_servers, fresh_name("stays"))
    never = fresh_name("never-there")
    outcomes = delete_topics(access, [goes, never])
    assert {name: outcome.status for name, outcome in outcomes.items()} == {goes: Status.DONE, never: Status.ALREADY}
    with Admin(access) as admin:
        wait_until(lambda: goes not in admin.topics([goes, stays]), "the topic to go")
        assert stays in admin.topics([stays])


def test_nothing_to_delete_asks_nobody() -> None:
    assert delete_topics(Access("nowhere", ["127.0.0.1:1"]), []) == {}
