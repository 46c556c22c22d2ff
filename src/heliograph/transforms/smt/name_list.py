"""Settings that hold a list of names, checked as Kafka checks them."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.settings import words


def name_list(settings: Mapping[str, str], key: str) -> tuple[str, ...]:
    """The names, each once; none at all is fine."""
    names = words(settings, key)
    if "" in names:
        raise ValueError(f"{key} has an empty name between its commas")
    return tuple(dict.fromkeys(names))


def required_name_list(settings: Mapping[str, str], key: str) -> tuple[str, ...]:
    """The names, each once, and at least one."""
    names = name_list(settings, key)
    if not names:
        raise ValueError(f"{key} must name at least one")
    return names
