"""How a key is spelt as the name of an environment variable, and which keys a name may stand for.

All letters are capitals, and whatever is neither letter nor digit is an underscore; so `->` is two of them. Names lose
what keys tell apart by dots, hyphens and case: a name is therefore looked up among the keys that can be meant.
"""

from __future__ import annotations

import difflib
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.address import ROLES, Place, locate, names_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

PREFIX: Final = "HELIOGRAPH_"
PROPERTIES: Final = f"{PREFIX}PROPERTIES"
FILE_ALONE: Final = f"{PREFIX}FILE_ALONE"
NO_FILE: Final = "-"

# Variables of ours that are no options: switches, what a supervisor tells its child, and what hooks are told.
_OWN: Final = frozenset(
    PREFIX + name
    for name in (
        "PROPERTIES", "FILE", "FILE_ALONE", "HEALTH_ADDRESS", "FAULTS", "KEEP_LOGS", "SEED", "MAVEN_REPOSITORY",
        "LIFELINE", "STARTED", "HOOK", "OPERATION", "OPERATION_ID", "DRY_RUN", "STEP", "WHEN", "FLOW", "SOURCE",
        "SOURCE_SERVERS", "TARGET", "TARGET_SERVERS", "TO", "TO_SERVERS", "ERROR",
    )
)  # fmt: skip
_OWN_PREFIXES: Final = (f"{PREFIX}FACT_",)
_NEITHER_LETTER_NOR_DIGIT: Final = re.compile(r"[^A-Za-z0-9]")
_CLIENT_PREFIXES: Final = (
    *(f"{role}.override." for role in ROLES),
    *(f"{side}.{role}." for side in ("source", "target") for role in ROLES),
    *(f"{side}.cluster." for side in ("source", "target")),
)


def is_own(variable: str) -> bool:
    """Whether a variable of ours is no option."""
    return variable in _OWN or variable.startswith(_OWN_PREFIXES)


def spelt(key: str) -> str:
    """A key as it stands in the name of a variable."""
    return _NEITHER_LETTER_NOR_DIGIT.sub("_", key).upper()


def variable_for(key: str) -> str:
    """The variable that stands for a key."""
    return PREFIX + spelt(key)


def meant_keys(name: str, aliases: Sequence[str], written: Collection[str]) -> list[str]:
    """All keys that a name (without what all begin with) may stand for: as they are written, else of the table."""
    found = [key for key in written if spelt(key) == name]
    return found or list(dict.fromkeys(_options(name, aliases))) or list(dict.fromkeys(_free_keys(name, aliases)))


def closest(variable: str, aliases: Sequence[str]) -> str:
    """The variable that was perhaps meant; empty if none is near."""
    known = [PREFIX + spelt(prefix) + name for place, prefix in _places(aliases) for name in _names(place)]
    return next(iter(difflib.get_close_matches(variable, known, n=1, cutoff=0.85)), "")


def _options(name: str, aliases: Sequence[str]) -> Iterator[str]:
    for place, prefix, rest in _split(name, aliases):
        option = _names(place).get(rest)
        if option is not None:
            yield prefix + option


def _free_keys(name: str, aliases: Sequence[str]) -> Iterator[str]:
    """Keys of families, of which a name cannot tell how they are spelt: lower case and dots."""
    for _, prefix, rest in _split(name, aliases):
        for family in options.FAMILIES:
            begin = spelt(family.prefix)
            key = prefix + family.prefix + rest[len(begin) :].lower().replace("_", ".")
            if rest.startswith(begin) and rest != begin and locate(key, aliases).family is family:
                yield key


def _split(name: str, aliases: Sequence[str]) -> Iterator[tuple[Place, str, str]]:
    for place, prefix in _places(aliases):
        if name.startswith(spelt(prefix)):
            yield place, prefix, name[len(prefix) :]


def _places(aliases: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Everything that may stand before an option."""
    yield Place.TOP, ""
    yield from ((Place.CLUSTER, f"{alias}.") for alias in aliases)
    pairs = ((source, target) for source in aliases for target in aliases if source != target)
    yield from ((Place.FLOW, f"{source}->{target}.") for source, target in pairs)


@cache
def _names(place: Place) -> Mapping[str, str]:
    """All names of options that may stand at a place, by how variables spell them."""
    clients = [name.partition(".")[2] for name in names_at(place) if name.startswith(tuple(f"{r}." for r in ROLES))]
    longer = (f"{prefix}{name}" for prefix in _CLIENT_PREFIXES for name in clients if place is not Place.CLUSTER)
    known = (name for name in longer if locate(_example(place) + name, ("a", "b")).known)
    return {spelt(name): name for name in (*names_at(place), *known)}


def _example(place: Place) -> str:
    return "a->b." if place is Place.FLOW else ""
