"""Which rights a flow needs, and the commands that grant them."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.secret import Secret
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.topics import Operation
from heliograph.sync.rights import (
    Need,
    Resource,
    book_keeping_topics,
    grant_commands,
    group_needs,
    lack,
    missing_rights,
    principal,
    source_needs,
    target_needs,
)
from heliograph.sync.topics import TopicPlan

FlowMaker = Callable[..., FlowConfig]
ORDERS = TopicPlan("a->b", {"orders": "a.orders"}, {}, (), (), (), ())
DATA = {Operation.Write, Operation.Describe, Operation.Alter}
SETTINGS = {Operation.DescribeConfigs, Operation.AlterConfigs}


def needs_of(flow: FlowConfig, existing: tuple[str, ...] = ()) -> dict[str, Need]:
    return {need.name: need for need in target_needs(flow, ORDERS, existing)}


def test_the_source_is_only_read(make_flow: FlowMaker) -> None:
    (need,) = source_needs(make_flow(), ["orders"])
    assert need.operations == {Operation.Read, Operation.Describe, Operation.DescribeConfigs}


def test_groups_are_asked_for_only_if_the_file_names_them(make_flow: FlowMaker) -> None:
    assert group_needs(make_flow()) == []
    flow = make_flow("start.group.id=old\nprogress.group.enabled=true\nprogress.group.id=shown\n")
    assert group_needs(flow) == [
        Need(Resource.GROUP, "old", frozenset({Operation.Describe})),
        Need(Resource.GROUP, "shown", frozenset({Operation.Read})),
    ]
    access = Access("a", ["h:1"])
    assert grant_commands(group_needs(flow)[:1], access)[0].endswith("--operation Describe --group old")
    assert lack(group_needs(flow)[0], access) == "User:ANONYMOUS lacks Describe on this group of a"


def test_offset_syncs_are_written_to_the_source_only_if_the_file_asks_for_it(make_flow: FlowMaker) -> None:
    flow = make_flow("offset-syncs.topic.location = source")
    _, need = source_needs(flow, ["orders"])
    assert need.name == "mm2-offset-syncs.b.internal"
    assert need.operations == {Operation.Write, Operation.Describe, Operation.Create}
    _, need = source_needs(flow, ["orders"], existing=["mm2-offset-syncs.b.internal"])
    assert Operation.Create not in need.operations


def test_create_is_needed_only_for_topics_that_are_missing(make_flow: FlowMaker) -> None:
    assert needs_of(make_flow())["a.orders"].operations == DATA | SETTINGS | {Operation.Create}
    assert needs_of(make_flow(), ("a.orders",))["a.orders"].operations == DATA | SETTINGS


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("sync.topic.configs.enabled=false\n", DATA),
        ("sync.group.offsets.enabled=true\n", DATA | SETTINGS | {Operation.Read}),
        ("exactly.once.commit=sequences\n", DATA | SETTINGS | {Operation.Read}),
    ],
)
def test_what_is_switched_off_needs_no_right(make_flow: FlowMaker, text: str, operations: set[Operation]) -> None:
    assert needs_of(make_flow(text), ("a.orders",))["a.orders"].operations == operations


def test_book_keeping_is_read_and_written(make_flow: FlowMaker) -> None:
    flow = make_flow()
    kinds = "offsets", "ledger", "offset-map", "state", "journal", "declarations"
    own = [f"mm2-{kind}.a.internal" for kind in kinds]
    others = ["a.checkpoints.internal", "mm2-offset-syncs.a.internal", "heartbeats"]
    assert book_keeping_topics(flow) == [*own, *others]
    needed = {Operation.Read, Operation.Write, Operation.Describe, Operation.Create}
    assert needs_of(flow)["mm2-ledger.a.internal"].operations == needed | {Operation.Delete}
    assert needs_of(flow)["mm2-state.a.internal"].operations == needed
    assert needs_of(flow)["heartbeats"].operations == needed - {Operation.Read}


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("emit.offset-syncs.enabled=false\n", "mm2-offset-syncs.a.internal"),
        ("offset-syncs.topic.location=source\n", "mm2-offset-syncs.a.internal"),
        ("emit.heartbeats.enabled=false\n", "heartbeats"),
    ],
)
def test_book_keeping_that_is_not_kept_there_needs_nothing(make_flow: FlowMaker, text: str, topic: str) -> None:
    assert topic not in book_keeping_topics(make_flow(text))


def test_a_flow_of_heartbeats_needs_nothing_else(make_flow: FlowMaker) -> None:
    flow = make_flow(enabled="false")
    assert [need.name for need in target_needs(flow, TopicPlan("", {}, {}, (), (), (), ()), ())] == ["heartbeats"]


def test_transactions_need_their_ids(make_flow: FlowMaker) -> None:
    need = needs_of(make_flow())["heliograph-a->b-"]
    assert need == Need(
        Resource.TRANSACTIONAL_ID, "heliograph-a->b-", frozenset({Operation.Write, Operation.Describe}), True
    )
    without = make_flow("b.exactly.once.source.support=disabled\n")
    assert "heliograph-a->b-" not in needs_of(without)


def test_missing_is_what_was_not_granted() -> None:
    need = Need(Resource.TOPIC, "t", frozenset({Operation.Read, Operation.Create}))
    read, create = frozenset({Operation.Read}), frozenset({Operation.Create})
    assert list(missing_rights([need], {"t": need.operations}, frozenset())) == []
    assert [item.operations for item in missing_rights([need], {"t": read}, frozenset())] == [create]
    assert [item.operations for item in missing_rights([need], {}, frozenset())] == [need.operations]


def test_of_rights_on_the_cluster_only_create_counts_for_topics() -> None:
    need = Need(Resource.TOPIC, "t", frozenset({Operation.Alter, Operation.Create}))
    cluster = frozenset({Operation.Alter, Operation.Create})
    assert [item.operations for item in missing_rights([need], {}, cluster)] == [{Operation.Alter}]


def test_commands_are_ready_for_a_shell() -> None:
    access = Access("b", ["h1:1", "h2:2"], credentials=Credentials("PLAIN", "the mirror", Secret("x")))
    read = frozenset({Operation.Describe, Operation.Read})
    needs = [
        Need(Resource.TOPIC, "t1", read),
        Need(Resource.TRANSACTIONAL_ID, "heliograph-a->b-", frozenset({Operation.Write}), is_prefix=True),
        Need(Resource.TOPIC, "t2", read),
    ]
    first, second = grant_commands(needs, access)
    start = ["kafka-acls", "--bootstrap-server", "h1:1,h2:2", "--add", "--allow-principal", "User:the mirror"]
    operations = ["--operation", "Read", "--operation", "Describe"]
    assert shlex.split(first) == [*start, *operations, "--topic", "t1", "--topic", "t2"]
    ids = ["--transactional-id", "heliograph-a->b-", "--resource-pattern-type", "prefixed"]
    assert shlex.split(second) == [*start, "--operation", "Write", *ids]


def test_without_a_login_we_are_anonymous() -> None:
    assert principal(Access("a", ["a:1"])) == "User:ANONYMOUS"
