"""Looks at every line of a file: keys that mean nothing, values that do not fit, and what has no effect."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.address import Address, Place, client_key, locate, names_at
from heliograph.config.option import FLOW_SCOPES, Effect, Kind, Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.resolution import is_dropped_by_mm2, shadowed, shadowed_by_top
from heliograph.config.value import BadValueError, parse_value, repaired_regexes, split_list, trim, unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from heliograph.config.properties import Entry

_SEVERITY_OF: Final = {Effect.NONE: Severity.NOTE, Effect.UNSUPPORTED: Severity.WARNING}


class Inspector:
    """Inspects the entries of one file, given the aliases of its clusters."""

    def __init__(self, file: str, aliases: Sequence[str]) -> None:
        self._file = file
        self._aliases = aliases

    def inspect(self, entries: Mapping[str, Entry], texts: Mapping[str, str]) -> Iterator[Problem]:
        """All there is to say about single lines; `texts` holds the values with references resolved."""
        for key, entry in entries.items():
            address = locate(key, self._aliases)
            if address.place is Place.FLOW and not self._is_flow(address):
                yield self._bad_flow(entry, address)
            elif not address.known:
                yield self._unknown(entry, address)
            else:
                yield from self._known(entry, address, texts.get(key), entries)
        for alias in self._aliases:
            yield from self._shadowed_by_top(entries, alias)
            for target in self._aliases:
                yield from self._shadowed(entries, alias, target)

    def _problem(self, severity: Severity, entry: Entry, message: str, hint: str = "") -> Problem:
        return Problem(severity, message, hint, self._file, entry.line, entry.key)

    def _is_flow(self, address: Address) -> bool:
        source, target = address.clusters
        return source in self._aliases and target in self._aliases and source != target

    def _bad_flow(self, entry: Entry, address: Address) -> Problem:
        source, target = address.clusters
        if source == target:
            return self._problem(
                Severity.ERROR, entry, "mirrors a cluster into itself", "a flow needs two different clusters"
            )
        stranger = source if source not in self._aliases else target
        guess = _closest(stranger, self._aliases)
        hint = f"did you mean {guess}? " if guess else ""
        return self._problem(
            Severity.ERROR,
            entry,
            f"the cluster {stranger or '(empty)'} is not in clusters",
            f"{hint}clusters are {', '.join(self._aliases)}",
        )

    def _unknown(self, entry: Entry, address: Address) -> Problem:
        elsewhere = self._elsewhere(address)
        if elsewhere:
            return self._problem(Severity.WARNING, entry, "has no effect here", elsewhere)
        hint = self._alias_hint(address.name) if address.place is Place.TOP else ""
        guess = _closest(address.name, names_at(address.place))
        if guess and not hint:
            hint = f"did you mean {address.prefix}{guess}?"
        reference = "see `heliograph config reference` for all keys"
        return self._problem(Severity.WARNING, entry, "unknown key, ignored", hint or reference)

    def _alias_hint(self, key: str) -> str:
        """What to say about a key that seems to stand behind an alias that does not exist."""
        for name in options.in_scopes((Scope.CLIENT,)):
            alias = key.removesuffix(f".{name}")
            if alias != key and alias:
                guess = _closest(alias, self._aliases)
                return f"did you mean {guess}.{name}?" if guess else f"{alias} is not in clusters"
        return ""

    def _elsewhere(self, address: Address) -> str:
        """The right place of an option that means nothing where it stands."""
        name = address.name
        if address.place is Place.CLUSTER:
            alias = address.clusters[0]
            if options.find(name, FLOW_SCOPES) or options.find_family(name, FLOW_SCOPES):
                return f"it belongs to a flow: write {name} for all, or {alias}->OTHER.{name}"
        if address.place is Place.FLOW and options.find(name, (Scope.CLIENT,)):
            source, target = address.clusters
            return f"it belongs to a cluster: write {source}.{name} or {target}.{name}"
        if address.place is not Place.TOP and options.find(name, (Scope.DRIVER, Scope.REST)):
            return f"it has no prefix: write {name}"
        return self._other_role(address)

    def _other_role(self, address: Address) -> str:
        client = client_key(address.name)
        other = {"consumer": Scope.PRODUCER, "producer": Scope.CONSUMER}.get(client.role) if client else None
        if client and other and options.find(client.name, (other,)):
            return f"it is a key of the {other.value}: write {address.prefix}{other.value}.{client.name}"
        return ""

    def _known(
        self, entry: Entry, address: Address, text: str | None, entries: Mapping[str, Entry]
    ) -> Iterator[Problem]:
        if text is not None:
            yield from self._value(entry, address, text)
        yield from self._effect(entry, address)
        if address.option and address.option.replaced_by:
            yield self._old_name(entry, address, entries)
        if address.family:
            yield from self._almost_an_option(entry, address, address.family.prefix)

    def _almost_an_option(self, entry: Entry, address: Address, prefix: str) -> Iterator[Problem]:
        """A free key may be meant; but one that nearly is an option of the table is likely mistyped."""
        names = [name for name in names_at(address.place) if name.startswith(prefix)]
        for guess in difflib.get_close_matches(address.name, names, n=1, cutoff=0.9):
            yield self._problem(
                Severity.WARNING, entry, "is no key of the table", f"did you mean {address.prefix}{guess}?"
            )

    def _value(self, entry: Entry, address: Address, text: str) -> Iterator[Problem]:
        option = address.option
        if option is None:
            return
        try:
            parse_value(option, text)
        except BadValueError as error:
            quoted = "" if option.secret else f"'{_short(entry.value)}' "
            yield self._problem(Severity.ERROR, entry, f"{quoted}{error.reason}", error.hint)
            return
        if option.kind is Kind.REGEXES:
            yield from self._repaired(entry)
        if option.kind is Kind.BOOLEAN and option.name == "enabled" and trim(text) != text:
            yield self._problem(
                Severity.NOTE,
                entry,
                "MirrorMaker 2 takes a value with blanks after it for false",
                "honoured here",
            )

    def _repaired(self, entry: Entry) -> Iterator[Problem]:
        text = trim(entry.value)
        if unquoted(text) != text:
            yield self._problem(
                Severity.WARNING,
                entry,
                "the quotes would be part of the first and last pattern in MirrorMaker 2, which then match "
                "almost nothing",
                "read without the quotes here; remove them",
            )
        if repaired_regexes(text) != split_list(unquoted(text)):
            yield self._problem(
                Severity.WARNING,
                entry,
                "a pattern that begins with * is no regular expression, and stops MirrorMaker 2",
                "read as .* here; write .*",
            )

    def _effect(self, entry: Entry, address: Address) -> Iterator[Problem]:
        described = address.option or address.family
        if described is None:
            return
        if described.effect is not Effect.ACTS:
            yield self._problem(_SEVERITY_OF[described.effect], entry, described.effect.value, described.note)
        elif is_dropped_by_mm2(address):
            yield self._problem(
                Severity.NOTE, entry, "MirrorMaker 2 ignores it here", f"honoured; {_right_spelling(address)}"
            )

    def _old_name(self, entry: Entry, address: Address, entries: Mapping[str, Entry]) -> Problem:
        option = address.option
        assert option is not None
        new_key = address.prefix + option.replaced_by
        message = f"old name, which MirrorMaker 2 ignores since {option.removed}"
        if new_key in entries:
            message = f"old name, ignored because {new_key} is set {entries[new_key].place}"
        return self._problem(Severity.WARNING, entry, message, f"write {new_key}")

    def _shadowed(self, entries: Mapping[str, Entry], source: str, target: str) -> Iterator[Problem]:
        for loser, winner, spelling in shadowed(entries, source, target):
            yield self._problem(
                Severity.WARNING,
                loser,
                f"loses to {winner.key} {winner.place}, as in MirrorMaker 2",
                f"to set it for this flow write {spelling}",
            )

    def _shadowed_by_top(self, entries: Mapping[str, Entry], alias: str) -> Iterator[Problem]:
        for loser, winner in shadowed_by_top(entries, alias):
            yield self._problem(
                Severity.WARNING,
                loser,
                f"loses to {winner.key} {winner.place}, as in MirrorMaker 2",
                f"remove {winner.key} to set it for each target",
            )


def _right_spelling(address: Address) -> str:
    option, client = address.option, address.client
    if client and client.role == "producer" and address.place is Place.FLOW:
        return f"its data is written by {address.clusters[1]}.producer.{client.name}"
    if client or (option and option.scope is Scope.CLIENT):
        role = f"{client.role}." if client and client.role else "consumer."
        alias = address.clusters[0] if address.place is Place.CLUSTER else "ALIAS"
        name = client.name if client else address.name
        return f"there write {alias}.{role}{name}"
    if option and option.scope is Scope.WORKER:
        target = address.clusters[1] if address.place is Place.FLOW else "TARGET"
        return f"there write {target}.{address.name}"
    return f"there write SOURCE->TARGET.{address.name}"


def _closest(name: str, names: Sequence[str]) -> str:
    longer = [candidate for candidate in names if candidate.startswith(f"{name}.")]
    return next(iter([*difflib.get_close_matches(name, names, n=1, cutoff=0.8), *longer]), "")


def _short(text: str) -> str:
    text = " ".join(trim(text).split())
    return text if len(text) <= 60 else f"{text[:57]}…"
