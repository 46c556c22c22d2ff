"""Transforms and predicates are found by the names that configurations give them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping

import pytest

from heliograph.embedded.jars import fetch_jars, kafka_version
from heliograph.policy.plugins import PluginError
from heliograph.transforms.catalogue import (
    KAFKA_PREDICATES,
    KAFKA_TRANSFORMS,
    OWN_PREDICATES,
    OWN_TRANSFORMS,
    make_predicate,
    make_transform,
)
from heliograph.transforms.message import Message
from heliograph.transforms.own.mask_pii import MaskPII
from heliograph.transforms.predicates.topic_name_matches import TopicNameMatches
from heliograph.transforms.smt.mask_field import MaskField
from heliograph.transforms.smt.regex_router import RegexRouter
from heliograph.transforms.stage import Predicate, SidedTransform, Transform

PACKAGE = "org.apache.kafka.connect.transforms"
HERE = __name__


class Sided(SidedTransform):
    """A user's transform of keys or values."""

    def apply(self, message: Message) -> Message:
        return message


class Own(Transform):
    """A user's transform."""

    def apply(self, message: Message) -> Message:
        return message


class OwnPredicate(Predicate):
    """A user's predicate."""

    def test(self, message: Message) -> bool:
        return True


class NeedsMore(Predicate):
    """A user's predicate that cannot be made from its name alone."""

    def __init__(self, more: str) -> None:
        self.more = more

    def test(self, message: Message) -> bool:
        return True


class Plain:
    """A user's class without a base."""

    def configure(self, settings: Mapping[str, str]) -> None:
        self.settings = settings

    def apply(self, record: object) -> object:
        return record


def names_in_kafka(folder: str) -> set[str]:
    jar = fetch_jars() / f"connect-transforms-{kafka_version()}.jar"
    with zipfile.ZipFile(jar) as classes:
        files = [name.removesuffix(".class") for name in classes.namelist() if name.endswith(".class")]
    return {name.rpartition("/")[2] for name in files if name.rpartition("/")[0].endswith(folder)}


def test_every_transform_of_kafka_is_there_for_every_side_it_has() -> None:
    nested = {"Config", "ConfigName", "FieldType", "InsertionSpec", "Operation", "TimestampTranslator"}
    found = {name for name in names_in_kafka("transforms") if name.rpartition("$")[2] not in nested}
    found = {name for name in found if not name.rpartition("$")[2].isdigit()}
    sided = {name.rpartition("$")[0] for name in found if "$" in name}
    assert [ours.__name__ for ours in KAFKA_TRANSFORMS] == sorted(name for name in found if "$" not in name)
    assert {ours.__name__ for ours in KAFKA_TRANSFORMS if issubclass(ours, SidedTransform)} == sided
    for name in found - sided:
        assert type(make_transform(f"{PACKAGE}.{name}")).__name__ == name.partition("$")[0]


def test_every_predicate_of_kafka_is_there() -> None:
    found = names_in_kafka("transforms/predicates")
    assert {ours.__name__ for ours in KAFKA_PREDICATES} == found
    for name in found:
        assert type(make_predicate(f"{PACKAGE}.predicates.{name}")).__name__ == name


@pytest.mark.parametrize("name", [f"{PACKAGE}.MaskField", "MaskField", "io.heliograph.transforms.MaskPII", "MaskPII"])
def test_the_end_of_a_name_tells_key_from_value(name: str) -> None:
    made = {end: make_transform(name + end) for end in ("$Key", "$Value")}
    sides = {end: found.side_name for end, found in made.items() if isinstance(found, SidedTransform)}
    assert sides == {"$Key": "key", "$Value": "value"}


@pytest.mark.parametrize(
    "name", ["MaskPII", "io.heliograph.transforms.MaskPII", "com.example.transforms.MaskPIITransform"]
)
def test_our_own_are_for_values_if_nothing_is_said(name: str) -> None:
    found = make_transform(f" {name} ")
    assert isinstance(found, MaskPII)
    assert found.side_name == "value"


def test_short_names_do() -> None:
    assert isinstance(make_transform("RegexRouter"), RegexRouter)
    assert isinstance(make_predicate("TopicNameMatches"), TopicNameMatches)
    assert isinstance(make_transform("MaskField$Key"), MaskField)


def test_a_side_must_be_told_where_kafka_needs_one() -> None:
    with pytest.raises(PluginError, match=r"write org\..*MaskField\$Key or org\..*MaskField\$Value$"):
        make_transform(f"{PACKAGE}.MaskField")


def test_a_side_cannot_be_told_where_there_is_none() -> None:
    with pytest.raises(PluginError, match=r"write it without \$Value"):
        make_transform(f"{PACKAGE}.RegexRouter$Value")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (f"{PACKAGE}.MaskFeild$Value", f"{PACKAGE}.MaskField$Value"),
        (f"{PACKAGE}.RegexRouters", f"{PACKAGE}.RegexRouter"),
        ("DropHeader", "DropHeaders"),
    ],
)
def test_a_mistyped_name_is_recognised(wrong: str, right: str) -> None:
    with pytest.raises(PluginError) as caught:
        make_transform(wrong)
    assert str(caught.value).endswith(f"did you mean {right}?")


def test_a_mistyped_predicate_is_recognised() -> None:
    with pytest.raises(PluginError, match=r"did you mean org\..*\.TopicNameMatches\?"):
        make_predicate(f"{PACKAGE}.predicates.TopicNameMatch")


@pytest.mark.parametrize("name", ["io.debezium.transforms.ExtractNewRecordState", "com.acme.Mask$Value", "", "$Key"])
def test_a_name_that_nobody_knows_is_refused_with_what_to_do(name: str) -> None:
    with pytest.raises(PluginError, match=r"write (it as a Python class|package\.Class)") as caught:
        make_transform(name)
    assert "did you mean" not in str(caught.value)


def test_python_classes_are_found_by_their_path() -> None:
    assert type(make_transform(f"{HERE}.Own")).__name__ == "Own"
    assert type(make_predicate(f"{HERE}:OwnPredicate")).__name__ == "OwnPredicate"
    sided = make_transform(f"{HERE}.Sided$Key")
    assert isinstance(sided, SidedTransform)
    assert sided.side_name == "key"
    assert isinstance(make_transform(f"{HERE}.Plain"), Transform)


@pytest.mark.parametrize("name", [f"{HERE}.Own", f"{HERE}.Plain", f"{HERE}.NeedsMore", f"{HERE}.Nothing"])
def test_a_class_that_is_no_predicate_is_refused(name: str) -> None:
    with pytest.raises(PluginError, match=r"subclass of|cannot be made|no class"):
        make_predicate(name)


@pytest.mark.parametrize("found", [*KAFKA_TRANSFORMS, *OWN_TRANSFORMS, *KAFKA_PREDICATES, *OWN_PREDICATES])
def test_every_option_is_explained_and_its_default_is_a_choice(found: type[Transform] | type[Predicate]) -> None:
    assert found.__doc__
    for option in found.OPTIONS:
        assert option.doc.endswith(".")
        assert not (option.is_required and option.default is not None)
        assert not option.choices or option.default in (None, *option.choices)
