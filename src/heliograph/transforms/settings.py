"""Reads settings of transforms and predicates, as Kafka's own parser would; ValueError says what is wrong."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.policy.filters import split_list


def words(settings: Mapping[str, str], key: str) -> list[str]:
    """A list separated by commas."""
    return split_list(settings.get(key, ""))


def flag(settings: Mapping[str, str], key: str) -> bool:
    """A setting that is true or false."""
    text = settings.get(key, "false").strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"{key} must be true or false, not {text!r}")
    return text == "true"
