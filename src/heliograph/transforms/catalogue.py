"""Transforms and predicates by the class name in a configuration: Kafka's, our own, or anyone's in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from heliograph.policy.plugins import PluginError, find_class
from heliograph.transforms.own.field_matches import FieldMatches
from heliograph.transforms.own.header_matches import HeaderMatches
from heliograph.transforms.own.mask_pii import MaskPII
from heliograph.transforms.predicates.has_header_key import HasHeaderKey
from heliograph.transforms.predicates.record_is_tombstone import RecordIsTombstone
from heliograph.transforms.predicates.topic_name_matches import TopicNameMatches
from heliograph.transforms.python_transform import adapted
from heliograph.transforms.smt.cast import Cast
from heliograph.transforms.smt.drop_headers import DropHeaders
from heliograph.transforms.smt.extract_field import ExtractField
from heliograph.transforms.smt.filter import Filter
from heliograph.transforms.smt.flatten import Flatten
from heliograph.transforms.smt.header_from import HeaderFrom
from heliograph.transforms.smt.hoist_field import HoistField
from heliograph.transforms.smt.insert_field import InsertField
from heliograph.transforms.smt.insert_header import InsertHeader
from heliograph.transforms.smt.mask_field import MaskField
from heliograph.transforms.smt.regex_router import RegexRouter
from heliograph.transforms.smt.replace_field import ReplaceField
from heliograph.transforms.smt.set_schema_metadata import SetSchemaMetadata
from heliograph.transforms.smt.timestamp_converter import TimestampConverter
from heliograph.transforms.smt.timestamp_router import TimestampRouter
from heliograph.transforms.smt.value_to_key import ValueToKey
from heliograph.transforms.stage import Predicate, SidedTransform, Transform

KAFKA_PACKAGE = "org.apache.kafka.connect.transforms."
KAFKA_PREDICATES_PACKAGE = f"{KAFKA_PACKAGE}predicates."
OWN_PACKAGE = "io.heliograph.transforms."
OWN_PREDICATES_PACKAGE = f"{OWN_PACKAGE}predicates."

KAFKA_TRANSFORMS: tuple[type[Transform], ...] = (
    Cast,
    DropHeaders,
    ExtractField,
    Filter,
    Flatten,
    HeaderFrom,
    HoistField,
    InsertField,
    InsertHeader,
    MaskField,
    RegexRouter,
    ReplaceField,
    SetSchemaMetadata,
    TimestampConverter,
    TimestampRouter,
    ValueToKey,
)
KAFKA_PREDICATES: tuple[type[Predicate], ...] = (HasHeaderKey, RecordIsTombstone, TopicNameMatches)
OWN_TRANSFORMS: tuple[type[Transform], ...] = (MaskPII,)
OWN_PREDICATES: tuple[type[Predicate], ...] = (FieldMatches, HeaderMatches)
ALIASES = {"com.example.transforms.MaskPIITransform": "MaskPII"}

_KEY, _VALUE = "$Key", "$Value"
_Stage = TypeVar("_Stage", Transform, Predicate)


def make_transform(class_name: str) -> Transform:
    """A transform of the class, not configured yet; PluginError if there is none."""
    name = class_name.strip()
    base, suffix = _split(ALIASES.get(name, name))
    found: type = _TRANSFORMS.get(base) or _python_class(base, name, object, _TRANSFORMS)
    if issubclass(found, SidedTransform):
        if not suffix and found in KAFKA_TRANSFORMS:
            raise PluginError(f"{name} is for keys or for values: write {base}{_KEY} or {base}{_VALUE}")
        return found(suffix == _KEY)
    if suffix:
        raise PluginError(f"{name}: {base} has no forms for keys and values; write it without {suffix}")
    return adapted(found)


def make_predicate(class_name: str) -> Predicate:
    """A predicate of the class, not configured yet; PluginError if there is none."""
    name = class_name.strip()
    found = _PREDICATES.get(name) or _python_class(name, name, Predicate, _PREDICATES)
    try:
        predicate: Predicate = found()
    except TypeError as error:
        raise PluginError(f"{name} cannot be made: {error}") from error
    return predicate


def _split(name: str) -> tuple[str, str]:
    suffix = next((suffix for suffix in (_KEY, _VALUE) if name.endswith(suffix)), "")
    return name.removesuffix(suffix), suffix


def _python_class(base: str, name: str, kind: type, built_in: Mapping[str, type]) -> type:
    try:
        return find_class(base, kind)
    except PluginError as error:
        close = get_close_matches(base, built_in, n=1, cutoff=0.8)
        hint = f"; did you mean {close[0]}{name[len(base) :]}?" if close else ""
        raise PluginError(f"{error}{hint}") from None


def _by_name(package: str, classes: Iterable[type[_Stage]]) -> dict[str, type[_Stage]]:
    return {name: found for found in classes for name in (found.__name__, package + found.__name__)}


_TRANSFORMS: dict[str, type[Transform]] = {
    **_by_name(KAFKA_PACKAGE, KAFKA_TRANSFORMS),
    **_by_name(OWN_PACKAGE, OWN_TRANSFORMS),
}
_PREDICATES: dict[str, type[Predicate]] = {
    **_by_name(KAFKA_PREDICATES_PACKAGE, KAFKA_PREDICATES),
    **_by_name(OWN_PREDICATES_PACKAGE, OWN_PREDICATES),
}
