"""One effective value: what it is, and where it comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.providers import references
from heliograph.config.secret import HIDDEN, Secret
from heliograph.config.value import BadValueError, parse_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.config.option import Option, Value
    from heliograph.config.properties import Entry

_SECRET_NAME: Final = re.compile(
    r"secret|passw|token|credential|jaas|^rest\.user\.|(access|private|api|account|encryption|signing)[._-]?key"
    r"|^hooks\..*\.(url|headers)$|transforms\.[^.]+\.key$|basic\.auth\.user\.info$|schema\.registry\.url$",
    re.IGNORECASE,
)
_SECRET_OPTION_NAMES: Final = tuple(option.name for option in options.OPTIONS if option.secret)


class OriginKind(Enum):
    """Who decided on a value."""

    FILE = "file"
    VARIABLE = "variable"
    DEFAULT = "default"
    DERIVED = "derived"


@dataclass(frozen=True)
class Origin:
    """Where a value comes from: a line of the file, a variable, the default, or other values."""

    kind: OriginKind
    file: str = ""  # or the name of the variable
    line: int | None = None
    key: str = ""

    @property
    def is_given(self) -> bool:
        """Whether somebody has said it, be it in the file or by a variable."""
        return self.kind in (OriginKind.FILE, OriginKind.VARIABLE)

    @property
    def variable(self) -> str:
        """The environment variable that holds it, if one does."""
        return self.file if self.kind is OriginKind.VARIABLE else ""

    def __str__(self) -> str:
        if not self.is_given:
            return self.kind.value
        return f"{self.file}:{self.line} {self.key}" if self.line or not self.variable else f"{self.file} {self.key}"


DEFAULT: Final = Origin(OriginKind.DEFAULT)
DERIVED: Final = Origin(OriginKind.DERIVED)


@dataclass(frozen=True)
class Setting:
    """An option with its effective value. `text` may be shown: secrets are hidden, references unresolved.

    Where the file's value cannot be used, `valid` is false and the value is the default.
    """

    name: str
    option: Option | None
    value: Value
    text: str
    origin: Origin
    valid: bool = True


@dataclass(frozen=True)
class ResolvedFile:
    """The entries of a file under today's names, with the text of each after providers did their work."""

    file: str
    entries: Mapping[str, Entry]
    texts: Mapping[str, str]

    def origin(self, entry: Entry) -> Origin:
        """The place of an entry."""
        if entry.variable:
            return Origin(OriginKind.VARIABLE, entry.variable, entry.line, entry.key)
        return Origin(OriginKind.FILE, entry.file or self.file, entry.line, entry.key)

    def text(self, entry: Entry) -> str:
        """The entry's value with its references resolved."""
        return self.texts.get(entry.key, entry.value)


def typed(option: Option, entry: Entry | None, source: ResolvedFile) -> Setting:
    """The setting of an option, from the entry that counts for it or from the default."""
    if entry is None:
        return default_setting(option)
    text = shown(option.name, option, entry.value)
    try:
        value = parse_value(option, source.texts[entry.key])
    except (BadValueError, KeyError):
        return Setting(option.name, option, option.default, text, source.origin(entry), valid=False)
    if not option.secret and source.text(entry) == entry.value:
        text = value_text(value)
    return Setting(option.name, option, value, text, source.origin(entry))


def untyped(name: str, entry: Entry, source: ResolvedFile) -> Setting:
    """The setting of a name that is not in the table, as text."""
    text = source.text(entry)
    value = Secret(text) if is_secret(name, None) else text
    return Setting(name, None, value, shown(name, None, entry.value), source.origin(entry))


def default_setting(option: Option) -> Setting:
    """The setting of an option that the file leaves alone."""
    return Setting(option.name, option, option.default, value_text(option.default), DEFAULT)


def derived_setting(option: Option, value: Value) -> Setting:
    """The setting of an option whose value follows from others."""
    return Setting(option.name, option, value, value_text(value), DERIVED)


def shown(name: str, option: Option | None, text: str) -> str:
    """What may be shown of a value as it stands in the file: a secret only if it is kept elsewhere."""
    if not is_secret(name, option) or _is_reference_only(text):
        return text.strip()
    return HIDDEN


def is_secret(name: str, option: Option | None) -> bool:
    """Whether a value must be hidden: by the table, or where the table is silent, by its name."""
    if option is not None:
        return option.secret
    return bool(_SECRET_NAME.search(name)) or name.endswith(_SECRET_OPTION_NAMES)


def value_text(value: Value) -> str:
    """A value as one would write it in the file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def revealed_text(value: Value) -> str:
    """The same, with a secret revealed: for the code that needs it, never for output."""
    return value.reveal() if isinstance(value, Secret) else value_text(value)


def _is_reference_only(text: str) -> bool:
    rest = text
    for reference in references(text):
        rest = rest.replace(reference.text, "", 1)
    return text.strip() != "" and rest.strip() == ""
