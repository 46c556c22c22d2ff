"""The steps from the settings of a flow to its transforms, collecting every problem on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heliograph.config.problem import Problem, Severity
from heliograph.config.secret import Secret
from heliograph.config.setting import revealed_text
from heliograph.policy.plugins import PluginError
from heliograph.transforms.chain import ChainSpec, PredicateSpec, StageSpec
from heliograph.transforms.settings import flag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.config.setting import Setting

_FORMATS: Final = ("key.converter", "value.converter", "schema.registry.", "target.schema.registry.")


class TransformReader:
    """Reads the transforms of a flow; after that, `problems` tells what is wrong with them."""

    def __init__(self, settings: Mapping[str, Setting], file: str) -> None:
        self._settings = settings
        self._file = file
        self.problems: list[Problem] = []

    def read(self) -> ChainSpec:
        """All transforms that can be used, in their order."""
        predicates = {name: spec for name in self._names("predicates") if (spec := self._predicate(name))}
        stages = tuple(found for name in self._names("transforms") if (found := self._stage(name)))
        formats = {
            name: setting.value if isinstance(setting.value, Secret) else revealed_text(setting.value)
            for name, setting in self._settings.items()
            if name.startswith(_FORMATS) and setting.value is not None
        }
        chain = ChainSpec(stages, predicates, formats)
        if chain.is_active:
            self._check_formats(formats)
        return chain

    def _check_formats(self, formats: Mapping[str, str | Secret]) -> None:
        from heliograph.transforms.formats.choice import RecordFormats

        for key, is_key in (("key.converter", True), ("value.converter", False)):
            try:
                RecordFormats(formats, is_key)
            except ValueError as error:
                self._report(key, str(error))

    def _names(self, kind: str) -> tuple[str, ...]:
        names = self._settings[kind].value
        return tuple(dict.fromkeys(names)) if isinstance(names, tuple) else ()

    def _stage(self, name: str) -> StageSpec | None:
        prefix = f"transforms.{name}."
        found = self._checked(prefix, is_transform=True)
        predicate = self._text(f"{prefix}predicate")
        try:
            negate = flag({"negate": self._text(f"{prefix}negate") or "false"}, "negate")
        except ValueError as error:
            self._report(f"{prefix}negate", str(error))
            return None
        if found is None or (predicate and predicate not in self._names("predicates")):  # which is told elsewhere
            return None
        return StageSpec(name, *found, predicate, negate)

    def _predicate(self, name: str) -> PredicateSpec | None:
        found = self._checked(f"predicates.{name}.", is_transform=False)
        return PredicateSpec(*found) if found else None

    def _checked(self, prefix: str, is_transform: bool) -> tuple[str, dict[str, str]] | None:
        """The class name and all settings, after the class itself has taken them."""
        from heliograph.transforms.accepted_settings import accepted_settings  # most files need nothing of this
        from heliograph.transforms.catalogue import make_predicate, make_transform

        class_name = self._text(f"{prefix}type")
        if not class_name:  # which is told elsewhere
            return None
        try:
            made = make_transform(class_name) if is_transform else make_predicate(class_name)
            settings = accepted_settings(made, self._given(prefix))
            made.configure(settings)
        except PluginError as error:
            self._report(f"{prefix}type", str(error))
        except ValueError as error:
            self._report(f"{prefix}type", f"{class_name} refuses its settings: {error}")
        else:
            return class_name, settings
        return None

    def _given(self, prefix: str) -> dict[str, str]:
        return {
            name.removeprefix(prefix): revealed_text(setting.value)
            for name, setting in self._settings.items()
            if name.startswith(prefix)
        }

    def _text(self, key: str) -> str:
        setting = self._settings.get(key)
        return revealed_text(setting.value).strip() if setting else ""

    def _report(self, key: str, message: str, hint: str = "") -> None:
        setting = self._settings.get(key)
        line = setting.origin.line if setting else None
        shown = setting.origin.key if setting else key
        self.problems.append(Problem(Severity.ERROR, message, hint, self._file, line, shown or key))
