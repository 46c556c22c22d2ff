"""Policies and filters by the class name in a configuration: Java's built-in ones, or anyone's in Python."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from heliograph.policy.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    TopicFilter,
)
from heliograph.policy.replication import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)

_MM2_PACKAGE = "org.apache.kafka.connect.mirror."
_OUR_CLASSES: tuple[type, ...] = (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    DefaultTopicFilter,
    DefaultGroupFilter,
    DefaultConfigPropertyFilter,
)
_BUILT_IN: dict[str, type] = {
    **{ours.__name__: ours for ours in _OUR_CLASSES},
    **{_MM2_PACKAGE + ours.__name__: ours for ours in _OUR_CLASSES},
    "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy": IdentityReplicationPolicy,
}
_loaded: set[str] = set()
_WRITE_IT_IN_PYTHON = "classes of Java cannot be loaded: write it as a Python class, see docs/examples"


class PluginError(ValueError):
    """A class that a configuration names cannot be used; the text says why and what to do."""


def load_replication_policy(class_name: str, settings: Mapping[str, str]) -> ReplicationPolicy:
    """The configured replication policy of the given class."""
    policy: ReplicationPolicy = _load(class_name, settings, ReplicationPolicy)
    return policy


def load_topic_filter(class_name: str, settings: Mapping[str, str]) -> TopicFilter:
    """The configured topic filter of the given class."""
    topic_filter: TopicFilter = _load(class_name, settings, TopicFilter)
    return topic_filter


def load_group_filter(class_name: str, settings: Mapping[str, str]) -> GroupFilter:
    """The configured group filter of the given class."""
    group_filter: GroupFilter = _load(class_name, settings, GroupFilter)
    return group_filter


def load_config_property_filter(class_name: str, settings: Mapping[str, str]) -> ConfigPropertyFilter:
    """The configured filter of topic settings of the given class."""
    property_filter: ConfigPropertyFilter = _load(class_name, settings, ConfigPropertyFilter)
    return property_filter


def find_class(class_name: str, kind: type) -> type:
    """The class named as in Java, `package.Class` or `package:Class`, checked to be of the wanted kind."""
    name = class_name.strip()
    found = _BUILT_IN.get(name) or _imported(name)
    if not (inspect.isclass(found) and issubclass(found, kind)):
        raise PluginError(f"{name} is not a subclass of {kind.__module__}.{kind.__name__}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise PluginError(f"{name} does not define: {', '.join(missing)}")
    return found


def loaded_modules() -> frozenset[str]:
    """The modules of all classes that are not built in and have been found: whoever uses them elsewhere needs these."""
    return frozenset(_loaded)


def _imported(name: str) -> object:
    module_name, separator, attribute = name.rpartition(":" if ":" in name else ".")
    if not (separator and module_name and attribute.isidentifier()):
        raise PluginError(f"{name or 'an empty name'} names no class; write package.Class")
    module = _imported_module(name, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise PluginError(f"the Python module {module_name} has no class {attribute}") from None


def _imported_module(name: str, module_name: str) -> ModuleType:
    try:
        module = importlib.import_module(module_name)
        _loaded.add(module_name)
        return module
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise PluginError(
                f"{name} is neither built in nor in a Python module that can be imported "
                f"(no module {error.name} on PYTHONPATH); {_WRITE_IT_IN_PYTHON}"
            ) from None
        raise PluginError(f"the Python module {module_name} needs the module {error.name}, which is missing") from error
    except Exception as error:
        # Code of others runs here, so that anything may come out of it.
        raise PluginError(
            f"the Python module {module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _load(class_name: str, settings: Mapping[str, str], kind: type) -> Any:
    plugin_class = find_class(class_name, kind)
    try:
        plugin = plugin_class()
        plugin.configure(settings)
    except (ValueError, TypeError, LookupError) as error:
        raise PluginError(f"{class_name} refuses its settings: {error}") from error
    return plugin
