"""Kafka's config providers: `${env:KEY}`, `${file:path:key}`, `${directory:path:key}` stand for values."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import javaproperties

from heliograph.policy import java_regex

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE = "org.apache.kafka.common.config.provider."
_NAMES_KEY = "config.providers"


class ProviderError(ValueError):
    """A reference cannot be resolved; the text never holds a value that a provider gave."""


class ProviderProblem(NamedTuple):
    """What is wrong with the declaration of a provider, at which key, and what to write instead."""

    key: str
    message: str
    hint: str


@dataclass(frozen=True)
class Reference:
    """One `${provider:path:key}` in a text; the path may be missing."""

    provider: str
    path: str
    key: str
    text: str


@dataclass(frozen=True)
class Provider(ABC):
    """Looks values up by path and key."""

    name: str
    declared: bool

    @abstractmethod
    def get(self, path: str, key: str) -> str:
        """The value, or ProviderError."""


@dataclass(frozen=True)
class EnvProvider(Provider):
    """Environment variables whose names the allow list matches."""

    environment: Mapping[str, str] = field(repr=False)
    allowed: java_regex.JavaPattern

    def get(self, path: str, key: str) -> str:
        """The value of an environment variable."""
        if path:
            raise ProviderError(f"{self.name} takes no path: write ${{{self.name}:VARIABLE}}")
        if not self.allowed.matches(key):
            raise ProviderError(f"environment variable {key} is not allowed by {self._allow_key}")
        if key not in self.environment:
            raise ProviderError(f"environment variable {key} is not set")
        return self.environment[key]

    @property
    def _allow_key(self) -> str:
        return _parameter_key(self.name, "allowlist.pattern")


@dataclass(frozen=True)
class PathProvider(Provider):
    """Files below the allowed paths, or anywhere if none are given."""

    allowed: tuple[Path, ...]

    def _read(self, path: Path) -> str:
        try:
            return self._allowed_path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ProviderError(f"{path} is not UTF-8 text") from None
        except OSError as error:
            raise ProviderError(f"{path} cannot be read: {error.strerror}") from None

    def _allowed_path(self, path: Path) -> Path:
        """Where a path really leads, once `..` and links are followed."""
        try:
            real = path.resolve(strict=True)
        except (RuntimeError, ValueError):
            raise ProviderError(f"{path} is not a path that can be followed") from None
        if self.allowed and not any(real.is_relative_to(allowed) for allowed in self.allowed):
            raise ProviderError(f"{path} lies outside of {_parameter_key(self.name, 'allowed.paths')}")
        return real


@dataclass(frozen=True)
class FileProvider(PathProvider):
    """Keys of properties files."""

    def get(self, path: str, key: str) -> str:
        """The value of a key in a properties file."""
        if not path:
            raise ProviderError(f"{self.name} needs a file: write ${{{self.name}:/path/to/file:key}}")
        try:
            values = javaproperties.loads(self._read(Path(path)))
        except javaproperties.InvalidUEscapeError:
            raise ProviderError(f"{path} is not a properties file: it holds a broken \\u escape") from None
        if key not in values:
            raise ProviderError(f"{path} has no key {key}")
        return str(values[key])


@dataclass(frozen=True)
class DirectoryProvider(PathProvider):
    """Files of a directory, each one value, as Kubernetes mounts secrets."""

    def get(self, path: str, key: str) -> str:
        """The content of a file in a directory."""
        if not path:
            raise ProviderError(f"{self.name} needs a directory: write ${{{self.name}:/path/to/directory:file}}")
        if key in ("", ".", "..") or "/" in key or os.sep in key:
            raise ProviderError(f"{self.name} takes the plain name of a file in {path}")
        return self._read(Path(path) / key)


_KINDS: dict[str, type[Provider]] = {
    "EnvVarConfigProvider": EnvProvider,
    "FileConfigProvider": FileProvider,
    "DirectoryConfigProvider": DirectoryProvider,
}
_UNDECLARED = {
    "env": "EnvVarConfigProvider",
    "file": "FileConfigProvider",
    "directory": "DirectoryConfigProvider",
}


def references(text: str) -> list[Reference]:
    """All references in a text, in order."""
    return [Reference(match[1], match[2] or "", match[3], match[0]) for match in _REFERENCE.finditer(text)]


def resolve(text: str, providers: Mapping[str, Provider]) -> str:
    """The text with every reference replaced by its value; values are not looked through again."""
    return _REFERENCE.sub(lambda match: _lookup(match, providers), text)


def build_providers(
    settings: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> tuple[dict[str, Provider], list[ProviderProblem]]:
    """The declared providers, and env, file, directory in any case; and what is wrong with declarations."""
    builder = _Builder(settings, os.environ if environment is None else environment)
    for name in _names(settings):
        builder.declare(name)
    for name, class_name in _UNDECLARED.items():
        if name not in _names(settings):
            builder.add(name, class_name, declared=False)
    return builder.providers, builder.problems


class _Builder:
    """Collects providers and problems, so that one bad declaration does not hide the next."""

    def __init__(self, settings: Mapping[str, str], environment: Mapping[str, str]) -> None:
        self._settings = settings
        self._environment = environment
        self.providers: dict[str, Provider] = {}
        self.problems: list[ProviderProblem] = []

    def declare(self, name: str) -> None:
        key = f"{_NAMES_KEY}.{name}.class"
        class_name = self._settings.get(key, "").strip().removeprefix(_PACKAGE)
        known = f"write one of {', '.join(_PACKAGE + kind for kind in _KINDS)}"
        if not class_name:
            self.problems.append(ProviderProblem(key, f"the provider {name} has no class", known))
        elif class_name not in _KINDS:
            self.problems.append(ProviderProblem(key, f"there is no provider {class_name} here", known))
        else:
            self.add(name, class_name, declared=True)

    def add(self, name: str, class_name: str, *, declared: bool) -> None:
        kind = _KINDS[class_name]
        if issubclass(kind, PathProvider):
            self.providers[name] = kind(name, declared, self._allowed_paths(name))
        else:
            self.providers[name] = EnvProvider(name, declared, self._environment, self._allow_list(name))

    def _allow_list(self, name: str) -> java_regex.JavaPattern:
        key = _parameter_key(name, "allowlist.pattern")
        try:
            return java_regex.compile(self._settings.get(key, ".*"))
        except java_regex.JavaRegexError as error:
            self.problems.append(ProviderProblem(key, str(error), "write a Java regular expression"))
            return java_regex.matches_any([])

    def _allowed_paths(self, name: str) -> tuple[Path, ...]:
        key = _parameter_key(name, "allowed.paths")
        paths = [Path(item.strip()) for item in self._settings.get(key, "").split(",") if item.strip()]
        for path in paths:
            if not path.is_absolute():
                self.problems.append(ProviderProblem(key, f"{path} is not absolute", "write paths that begin with /"))
            elif not path.exists():
                self.problems.append(ProviderProblem(key, f"{path} does not exist", "create it or remove it"))
        return tuple(path.resolve() for path in paths)


def _names(settings: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in settings.get(_NAMES_KEY, "").split(",") if name.strip()]


def _parameter_key(name: str, parameter: str) -> str:
    return f"{_NAMES_KEY}.{name}.param.{parameter}"


def _lookup(match: re.Match[str], providers: Mapping[str, Provider]) -> str:
    provider = providers.get(match[1])
    if provider is None:
        raise ProviderError(
            f"there is no config provider named {match[1]}; declare it in {_NAMES_KEY} "
            f"and {_NAMES_KEY}.{match[1]}.class"
        )
    return provider.get(match[2] or "", match[3])
