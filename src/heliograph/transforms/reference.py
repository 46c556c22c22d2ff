"""All transforms and predicates that need no code of one's own, with their settings: for people."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heliograph.transforms import catalogue
from heliograph.transforms.stage import Predicate, SidedTransform, StageOption, Transform

TRANSFORM, PREDICATE = "transform", "predicate"
PAGE: Final = Path("docs/transforms.md")
COMMAND: Final = f"python -m heliograph.transforms.reference {PAGE}"

_BEGIN, _END = "<!-- generated: transforms and predicates -->", "<!-- end of what is generated -->"


@dataclass(frozen=True)
class Entry:
    """One transform or predicate."""

    name: str
    kind: str
    package: str
    doc: str
    options: tuple[StageOption, ...]
    is_sided: bool

    @property
    def class_names(self) -> tuple[str, ...]:
        """What can be written after `type =`; or the same without the package."""
        full = self.package + self.name
        if not self.is_sided:
            return (full,)
        return (f"{full}$Value", f"{full}$Key") if self.package == catalogue.KAFKA_PACKAGE else (full, f"{full}$Key")


def entries() -> tuple[Entry, ...]:
    """Everything in the catalogue, Kafka's first."""
    return tuple(_entries())


def renewed(page: str) -> str:
    """A page with its generated part as it should be."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + markdown() + after


def markdown() -> str:
    """The generated part of the page: all transforms and predicates with their settings."""
    parts = [_BEGIN, ""]
    for entry in entries():
        parts += [f"### {entry.name}", "", f"{entry.doc}", "", *(f"`{name}`  " for name in entry.class_names)]
        parts[-1] = parts[-1].rstrip()
        if entry.options:
            parts += ["", "| key | default | meaning |", "|---|---|---|", *map(_row, entry.options)]
        parts.append("")
    return "\n".join([*parts, _END])


def meaning(option: StageOption) -> str:
    """What an option does, and which values it can have."""
    return f"{option.doc} One of: {', '.join(option.choices)}." if option.choices else option.doc


def default_text(option: StageOption) -> str:
    """The default for people."""
    return "required" if option.is_required else option.default or ""


def _entries() -> Iterator[Entry]:
    for package, transforms in (
        (catalogue.KAFKA_PACKAGE, catalogue.KAFKA_TRANSFORMS),
        (catalogue.OWN_PACKAGE, catalogue.OWN_TRANSFORMS),
    ):
        yield from (_entry(found, TRANSFORM, package) for found in transforms)
    for package, predicates in (
        (catalogue.KAFKA_PREDICATES_PACKAGE, catalogue.KAFKA_PREDICATES),
        (catalogue.OWN_PREDICATES_PACKAGE, catalogue.OWN_PREDICATES),
    ):
        yield from (_entry(found, PREDICATE, package) for found in predicates)


def _entry(found: type[Transform] | type[Predicate], kind: str, package: str) -> Entry:
    doc = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return Entry(found.__name__, kind, package, doc, found.OPTIONS, issubclass(found, SidedTransform))


def _row(option: StageOption) -> str:
    default = default_text(option)
    shown = f"`{default}`" if default and not option.is_required else default
    text = meaning(option).replace("|", r"\|")
    return f"| `{option.key}` | {shown} | {text} |"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
