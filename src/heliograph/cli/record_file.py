"""Records that somebody has written down as JSON, to be tried out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from heliograph.errors import DataError
from heliograph.kafka.records import Record
from heliograph.kafka.sample import Sample
from heliograph.model import TopicPartition
from heliograph.transforms.formats.json_text import read_plain, write_plain

_KEYS = ("topic", "partition", "offset", "timestamp", "key", "key_base64", "value", "value_base64", "headers")


def read_records(file: Path, topic: str | None) -> list[Sample]:
    """The records of a file: one object or a list of them."""
    try:
        content = read_plain(file.read_bytes())
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}") from None
    except DataError as error:
        raise typer.BadParameter(f"{file}: {error}") from None
    items = content if isinstance(content, list) else [content]
    return [_sample(item, number, topic, file) for number, item in enumerate(items)]


def _sample(item: Any, number: int, topic: str | None, file: Path) -> Sample:
    if not isinstance(item, dict):
        raise typer.BadParameter(f"{file}: a record is an object with {', '.join(_KEYS)}")
    if unknown := [name for name in item if name not in _KEYS]:
        raise typer.BadParameter(f"{file}: a record has no {unknown[0]}; possible are {', '.join(_KEYS)}")
    name = topic or item.get("topic")
    if not isinstance(name, str) or not name:
        raise typer.BadParameter(f"{file}: name the source topic, in the file or with --topic")
    partition, offset, timestamp = (_number(item, name, file) for name in ("partition", "offset", "timestamp"))
    record = Record(
        number if offset is None else offset,
        0 if timestamp is None else timestamp,
        _bytes(item, "key", file),
        _bytes(item, "value", file),
        _headers(item.get("headers") or {}, file),
    )
    return Sample(TopicPartition(name, partition or 0), record)


def _number(item: Mapping[str, Any], name: str, file: Path) -> int | None:
    value = item.get(name)
    if value is not None and type(value) is not int:
        raise typer.BadParameter(f"{file}: {name} is a whole number")
    return value


def _bytes(item: Mapping[str, Any], name: str, file: Path) -> bytes | None:
    """Text as it is, everything else as JSON; null is none at all."""
    encoded = item.get(f"{name}_base64")
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise typer.BadParameter(f"{file}: {name}_base64 is not base64") from None
    return _written(item.get(name))


def _written(value: Any) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else write_plain(value)


def _headers(headers: Any, file: Path) -> list[tuple[str, bytes | None]]:
    if not isinstance(headers, dict):
        raise typer.BadParameter(f"{file}: headers are an object of names and texts")
    return [(name, _written(value)) for name, value in headers.items()]
