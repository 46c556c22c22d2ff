from __future__ import annotations

from collections.abc import Callable

import pytest

from heliograph.errors import DataError
from heliograph.transforms.chain import Chain, Failed, Route, Stage
from heliograph.transforms.message import Header, Message, Parsed, Side
from heliograph.transforms.stage import Predicate, Transform


class Bytes:
    """A format in which a value says just what its bytes are."""

    def read(self, topic: str, data: bytes) -> Parsed:
        return Parsed(None, data)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        assert parsed.value is None or isinstance(parsed.value, bytes)
        return parsed.value


def message(value: bytes | None = b"v", topic: str = "a.orders", offset: int = 0) -> Message:
    return Message(topic, 0, 1_000, Side(b"k", Bytes()), Side(value, Bytes()), [], "orders", offset)


class Tag(Transform):
    """Adds a header."""

    may_reroute = False

    def __init__(self, name: str) -> None:
        self._name = name

    def apply(self, message: Message) -> Message:
        message.headers.append(Header(self._name, b""))
        return message


class Drop(Transform):
    drops_all = True
    may_reroute = False

    def apply(self, message: Message) -> None:
        return None


class Rename(Transform):
    def __init__(self, name: str) -> None:
        self._name = name

    def apply(self, message: Message) -> Message:
        message.topic = self._name
        return message

    def route(self, topic: str) -> str:
        return self._name


class Fail(Transform):
    def apply(self, message: Message) -> Message:
        raise DataError("does not fit")


class If(Predicate):
    """By the message alone."""

    def __init__(self, rule: Callable[[Message], bool]) -> None:
        self._rule = rule

    def test(self, message: Message) -> bool:
        return self._rule(message)


class Named(Predicate):
    """By the topic's name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def test(self, message: Message) -> bool:
        return message.topic == self._name

    def test_topic(self, topic: str) -> bool:
        return topic == self._name


def route(*stages: Stage) -> Route:
    return Chain(stages).route("a.orders")


def names(passed: object) -> list[str]:
    assert isinstance(passed, Message)
    return [header.name for header in passed.headers]


def test_stages_work_in_the_order_in_which_they_are_named() -> None:
    [passed] = route(Stage("x", Tag("first")), Stage("y", Tag("second"))).run([message()])
    assert names(passed) == ["first", "second"]


@pytest.mark.parametrize(("negate", "tagged"), [(False, [True, False]), (True, [False, True])])
def test_a_stage_works_where_its_predicate_says_so_or_not(negate: bool, tagged: list[bool]) -> None:
    only_nulls = If(lambda message: message.value.is_null)
    passed = route(Stage("x", Tag("t"), only_nulls, negate)).run([message(None), message(b"v")])
    assert [bool(names(item)) for item in passed] == tagged


def test_what_is_dropped_reaches_no_later_stage() -> None:
    odd = If(lambda message: message.offset % 2 == 1)
    passed = route(Stage("x", Drop(), odd), Stage("y", Tag("t"))).run([message(offset=n) for n in range(4)])
    assert [item is None for item in passed] == [False, True, False, True]
    assert names(passed[2]) == ["t"]


def test_a_failure_names_its_stage_and_leaves_the_others_alone() -> None:
    second = If(lambda message: message.offset == 1)
    passed = route(Stage("check", Fail(), second), Stage("y", Tag("t"))).run([message(offset=n) for n in range(3)])
    assert names(passed[0]) == names(passed[2]) == ["t"]
    failed = passed[1]
    assert isinstance(failed, Failed)
    assert str(failed) == "check (Fail): does not fit"


def test_a_predicate_that_fails_fails_the_message() -> None:
    def refuse(message: Message) -> bool:
        raise DataError("no such field")

    [failed] = route(Stage("x", Tag("t"), If(refuse))).run([message()])
    assert isinstance(failed, Failed)
    assert failed.stage == "x"


def test_a_topic_that_no_stage_is_meant_for_is_not_looked_at() -> None:
    assert route(Stage("x", Tag("t"), Named("a.other"))).is_plain
    assert route(Stage("x", Tag("t"), Named("a.orders"), negate=True)).is_plain
    assert not route(Stage("x", Tag("t"), Named("a.orders"))).is_plain
    assert not route(Stage("x", Tag("t"), If(lambda _: False))).is_plain


def test_a_topic_that_is_only_renamed_is_not_looked_at() -> None:
    found = route(Stage("x", Rename("b")), Stage("y", Tag("t"), Named("a.orders")), Stage("z", Rename("c"), Named("b")))
    assert found == Route("c")


def test_renaming_after_another_stage_is_done_message_by_message() -> None:
    found = route(Stage("x", Tag("t")), Stage("y", Rename("b")))
    assert (found.topic, len(found.stages)) == ("a.orders", 2)
    [passed] = found.run([message()])
    assert isinstance(passed, Message)
    assert passed.topic == "b"


def test_predicates_on_names_are_asked_again_after_a_stage_that_may_rename() -> None:
    maybe = Stage("x", Rename("b"), If(lambda message: message.value.is_null))
    found = route(maybe, Stage("y", Tag("t"), Named("b")))
    passed = found.run([message(None), message(b"v")])
    assert [bool(names(item)) for item in passed] == [True, False]


def test_a_topic_of_which_nothing_passes_is_known_beforehand() -> None:
    assert route(Stage("x", Drop(), Named("a.orders"))).drops_all
    assert not route(Stage("x", Drop(), Named("a.other"))).drops_all
    assert not route(Stage("x", Drop(), If(lambda _: True))).drops_all


def test_a_route_hides_data_if_one_of_its_stages_does() -> None:
    class Hide(Tag):
        hides_data = True

    assert route(Stage("x", Tag("t")), Stage("y", Hide("t"))).hides_data
    assert not route(Stage("x", Tag("t"))).hides_data
