"""The reference page of all keys, made from the option table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.option import Effect, Scope
from heliograph.config.setting import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heliograph.config.option import Family, Option

PAGE: Final = Path("docs/reference/configuration.md")
COMMAND: Final = f"python -m heliograph.config.reference {PAGE}"

_TITLES: Final = {
    Scope.DRIVER: ("The file itself", "Stand alone, without a prefix."),
    Scope.CONNECTOR: ("Flows", "For all flows without a prefix, for one flow behind `A->B.`."),
    Scope.SOURCE: (
        "Flows: topics and records",
        "For all flows without a prefix, for one flow behind `A->B.`.",
    ),
    Scope.CHECKPOINT: (
        "Flows: consumer groups",
        "For all flows without a prefix, for one flow behind `A->B.`.",
    ),
    Scope.HEARTBEAT: ("Flows: heartbeats", "For all flows without a prefix, for one flow behind `A->B.`."),
    Scope.OWN: (
        "Flows: what only Heliograph has",
        "For all flows without a prefix, for one flow behind `A->B.`. MirrorMaker 2 ignores these keys.",
    ),
    Scope.CONFLICTS: (
        "Conflicts",
        "For all clusters without a prefix, for detection on one cluster behind `B.`, or behind `A->B.` for what a "
        "flow brings there.",
    ),
    Scope.WORKER: (
        "Workers",
        "Behind the alias of the target, `B.`. Without a prefix MirrorMaker 2 reads only some of them; "
        "here all count, and behind `A->B.` too.",
    ),
    Scope.REST: ("REST server", "Stand alone, without a prefix."),
    Scope.CLIENT: (
        "Clients of a cluster",
        "Behind an alias, `A.`, for all clients of a cluster; behind `A.consumer.`, `A.producer.` or "
        "`A.admin.` for one kind; without a prefix for all clusters. For one flow: `A->B.source.consumer.`, "
        "`A->B.target.producer.` and the like.",
    ),
    Scope.CONSUMER: ("Consumers", "Behind `A.consumer.`, or `A->B.source.consumer.` for one flow."),
    Scope.PRODUCER: ("Producers", "Behind `B.producer.`, or `A->B.target.producer.` for one flow."),
    Scope.ADMIN: ("Admin clients", "Behind `A.admin.`, or `A->B.source.admin.` for one flow."),
}
_HEAD: Final = r"""# Configuration reference

Heliograph reads MirrorMaker 2's `mm2.properties`. This page lists every key. It is generated from the option
table in `src/heliograph/config/options`; to renew it run `COMMAND`.

- Values follow Java's `.properties` format: a backslash is written `\\`, and a line that ends in `\` goes on.
- `A` and `B` stand for cluster aliases, `A->B` for the flow from A to B.
- Where the default differs from MirrorMaker 2's, both are given.
- Where a key has no effect, the reason and what does its job instead follow.
- Values may be kept elsewhere: `${env:NAME}`, `${file:/path:key}`, `${directory:/path:file}`.
- `heliograph config check FILE` finds mistakes; `heliograph config explain FILE` shows each effective value.

Two odd spellings are read by their intention, with a warning, because MirrorMaker 2 takes them otherwise:
double quotes around a whole list of patterns are dropped, and a pattern that begins with `*` reads as `.*`.

Which line wins, from the weakest to the strongest: the default; a key without a prefix; for clients `A.`,
then `A->B.consumer.` (`producer.`, `admin.`), then `A.consumer.`, then `A->B.source.consumer.`; for all else
of a flow `A->B.`. Keys that begin with `offset.storage`, `status.storage`, `config.storage`, `task`, `worker`
or name a converter win without a prefix over `B.`, as in MirrorMaker 2.
""".replace("COMMAND", COMMAND)


def markdown() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *("\n".join(_section(scope)) for scope in _TITLES)])


def _section(scope: Scope) -> Iterator[str]:
    title, where = _TITLES[scope]
    yield f"## {title}\n\n{where}\n"
    yield "| key | type | default | meaning |\n|---|---|---|---|"
    for option in options.OPTIONS:
        if option.scope is scope:
            yield f"| `{option.name}` | {_type(option)} | {_default(option)} | {_meaning(option)} |"
    for family in options.FAMILIES:
        if family.scope is scope:
            yield f"| `{family.prefix}*` | | | {_escaped(family.doc)}{_effect(family)} |"
    yield ""


def _type(option: Option) -> str:
    if option.choices:
        return _escaped(", ".join(f"`{choice}`" for choice in option.choices))
    if option.minimum is None:
        return option.kind.value
    upper = f" to {option.maximum:g}" if option.maximum is not None else " or more"
    return f"{option.kind.value}, {option.minimum:g}{upper}"


def _default(option: Option) -> str:
    if option.required:
        return "required"
    text = value_text(option.default)
    ours = f"`{_escaped(text)}`" if text else "" if option.default is None else "empty"
    return f"{ours} (MirrorMaker 2: `{_escaped(option.mm2_default)}`)" if option.mm2_default else ours


def _meaning(option: Option) -> str:
    since = f" Since Kafka {option.since}." if option.since else ""
    removed = f" Removed in Kafka {option.removed}." if option.removed else ""
    return f"{_escaped(option.doc)}{since}{removed}{_effect(option)}"


def _effect(described: Option | Family) -> str:
    if described.effect is Effect.ACTS:
        return ""
    return f" *{described.effect.value.capitalize()}: {_escaped(described.note)}.*"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown(), encoding="utf-8")
