"""Text of JSON or YAML as plain values: every document of it, and with an end to what it may become in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from heliograph.config.problem import Problem, Severity
from heliograph.errors import ConfigError

LARGEST: Final = 4 * 1024 * 1024


@dataclass(frozen=True)
class Document:
    """One document of a file, and the line on which it begins. Numbers are text, as they were written."""

    value: Any
    line: int


def read_documents(data: bytes, file: str) -> list[Document]:
    """All documents of a text; raises ConfigError that says where it is neither JSON nor YAML."""
    if len(data) > LARGEST:
        raise _unusable(f"is larger than {LARGEST // 1024 // 1024} MiB", "give only the connectors or resources", file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unusable("is not UTF-8 text", "save it as UTF-8", file, data.count(b"\n", 0, error.start) + 1) from None
    try:
        found = list(_json(text, file) if text.lstrip()[:1] in ("{", "[") else _yaml(text, file))
    except RecursionError:
        raise _unusable("is nested too deeply", "give only the connectors or resources", file) from None
    if not found:
        raise _unusable("is empty", "give connectors as JSON, or a KafkaMirrorMaker2 as YAML", file)
    return found


def _json(text: str, file: str) -> Iterator[Document]:
    """One value after the other, as many as there are."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    position = len(text) - len(text.lstrip())
    while position < len(text):
        line = text.count("\n", 0, position) + 1
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            message = f"is not JSON: {error.msg.lower()} at column {error.colno}"
            raise _unusable(message, "correct it there", file, error.lineno) from None
        yield Document(value, line)
        rest = text[position:]
        position += len(rest) - len(rest.lstrip(" \t\r\n,"))


class _PlainLoader(yaml.BaseLoader):
    """Takes every scalar for text; refuses aliases, a few of which can stand for more than any memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            problem = f"the alias *{event.anchor} is not followed here; write out what it stands for"
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return super().compose_node(parent, index)


def _yaml(text: str, file: str) -> Iterator[Document]:
    try:
        for node in yaml.compose_all(text, _PlainLoader):
            value = yaml.BaseLoader("").construct_document(node)
            if value not in ("", None):
                yield Document(value, node.start_mark.line + 1)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise _unusable(f"is not YAML: {error.problem or error.context}", "correct it there", file, line) from None
    except yaml.YAMLError as error:
        raise _unusable(f"is not YAML: {error}", "save it as plain text", file) from None


def _unusable(message: str, hint: str, file: str, line: int | None = None) -> ConfigError:
    return ConfigError([Problem(Severity.ERROR, message, hint, file, line)])
