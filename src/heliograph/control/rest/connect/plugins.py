"""The classes that settings can name, what settings there are, and whether given ones would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request

from heliograph import __version__
from heliograph.config import options
from heliograph.config.option import Effect, Kind, Option, Scope
from heliograph.config.problem import Problem
from heliograph.config.secret import HIDDEN
from heliograph.config.setting import value_text
from heliograph.config.value import BadValueError, parse_value
from heliograph.control.connector import Connector
from heliograph.control.connector_config import CONNECTOR_CLASS, class_name, connector_of_class
from heliograph.control.rest.connect.answers import (
    ConfigAnswer,
    DefinitionAnswer,
    PluginAnswer,
    ValidationAnswer,
    ValueAnswer,
)
from heliograph.control.rest.connect.bodies import JsonObject, config_map
from heliograph.control.rest.connect.configs import checked_changes
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Role, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import ConfigError

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"  # records are copied as they are
_COMMON = "Common"
_LATEST = "latest"
_SCOPES = {
    Connector.SOURCE: (Scope.CONNECTOR, Scope.SOURCE, Scope.OWN),
    Connector.CHECKPOINT: (Scope.CONNECTOR, Scope.CHECKPOINT),
    Connector.HEARTBEAT: (Scope.CONNECTOR, Scope.HEARTBEAT),
}
_REQUIRED = ("name", CONNECTOR_CLASS, "source.cluster.alias")

router = APIRouter(prefix="/connector-plugins", dependencies=[needs(Role.VIEWER)])


@router.get("")
@router.get("/", include_in_schema=False)
async def list_plugins(only: Annotated[str, Query(alias="connectorsOnly")] = "true") -> list[PluginAnswer]:
    """The three connectors; or every class that is known."""
    found = [_plugin(class_name(item), "source") for item in Connector]
    if only.lower() == "true":
        return found
    return [*found, _plugin(_BYTES, "converter"), _plugin(_BYTES, "header_converter")]


def _plugin(name: str, kind: str) -> PluginAnswer:
    return PluginAnswer.model_validate({"class": name, "type": kind, "version": __version__})


@router.get("/{plugin}/config")
async def definitions(plugin: str, version: str = _LATEST) -> list[DefinitionAnswer]:
    """What settings a connector has."""
    connector = connector_of_class(plugin)
    if connector is None:
        raise RestError(404, f"Unknown plugin {plugin}.")
    if version not in (_LATEST, __version__):
        raise RestError(400, f"{plugin} is there in version {__version__} only, not in {version}")
    return [_definition(option) for option in _options(connector).values()]


def _options(connector: Connector) -> dict[str, Option]:
    table = options.in_scopes(_SCOPES[connector])
    return {name: option for name, option in table.items() if not option.replaced_by}


def _definition(option: Option) -> DefinitionAnswer:
    is_required = option.required or option.name in _REQUIRED
    return DefinitionAnswer(
        name=option.name,
        type="LIST" if option.kind is Kind.REGEXES else option.kind.value.upper(),
        required=is_required,
        default_value=None if is_required or option.default is None else value_text(option.default),
        importance="HIGH" if is_required else "MEDIUM" if option.effect is Effect.ACTS else "LOW",
        documentation=" ".join(text for text in (option.doc, option.note) if text),
        group=_COMMON if option.scope is Scope.CONNECTOR else None,
        order_in_group=-1,
        width="NONE",
        display_name=option.name,
        dependents=[],
    )


@router.put("/{plugin}/config/validate")
def validate(request: Request, plugin: str, body: JsonObject) -> ValidationAnswer:
    """What each setting of a connector would be, and what is wrong with it; changes nothing."""
    wanted = {name: value for name, value in config_map(body).items() if value is not None}
    named = wanted.get(CONNECTOR_CLASS)
    if named is None:
        raise RestError(400, f"{CONNECTOR_CLASS} is missing")
    connector = connector_of_class(named)
    if connector is None or connector_of_class(plugin) is not connector:
        raise RestError(400, f"{CONNECTOR_CLASS} is {named}, but {plugin} was asked for")
    found = _Faults(_options(connector), wanted, site_of(request).mirror)
    configs = [*found.configs()]
    return ValidationAnswer(
        name=named, error_count=sum(len(item.value.errors) for item in configs), groups=[_COMMON], configs=configs
    )


class _Faults:
    """All that is wrong with a map of settings, by their names."""

    def __init__(self, table: Mapping[str, Option], wanted: Mapping[str, str], mirror: RunningMirror) -> None:
        self._table = table
        self._wanted = wanted
        self._by_name: dict[str, list[str]] = {}
        for name, option in table.items():
            self._check(name, option)
        if not self._by_name:
            self._check_with_flow(mirror)

    def configs(self) -> Iterator[ConfigAnswer]:
        """Every setting of the connector, and whatever else is wrong."""
        for name, option in self._table.items():
            yield ConfigAnswer(definition=_definition(option), value=self._value(name, option))
        for name in self._by_name.keys() - self._table.keys():
            yield ConfigAnswer(definition=None, value=self._value(name, None))

    def _value(self, name: str, option: Option | None) -> ValueAnswer:
        return ValueAnswer(
            name=name,
            value=self._shown(name, option),
            recommended_values=[],
            errors=self._by_name.get(name, []),
            visible=True,
        )

    def _shown(self, name: str, option: Option | None) -> str | None:
        if option is None:
            return None
        if name not in self._wanted:
            return None if option.default is None else value_text(option.default)
        return HIDDEN if option.secret else self._wanted[name]

    def _check(self, name: str, option: Option) -> None:
        if name not in self._wanted:
            if name in _REQUIRED:
                self._add(name, f'Missing required configuration "{name}" which has no default value.')
            return
        try:
            parse_value(option, self._wanted[name])
        except BadValueError as error:
            self._add(name, f"Invalid value for configuration {name}: {error.reason}. {error.hint}".strip())

    def _check_with_flow(self, mirror: RunningMirror) -> None:
        """Where the flow runs here, its settings are checked as if they were to be changed."""
        flow = mirror.flows.get(f"{self._wanted['source.cluster.alias']}->{self._wanted.get('target.cluster.alias')}")
        if flow is None:
            return
        try:
            checked_changes(mirror, flow, self._wanted)
        except ConfigError as error:
            self._add_all(error.problems, f"{flow.name}.")

    def _add_all(self, problems: Sequence[Problem], prefix: str) -> None:
        for problem in problems:
            self._add(problem.key.removeprefix(prefix), str(problem))

    def _add(self, name: str, why: str) -> None:
        self._by_name.setdefault(name, []).append(why)
