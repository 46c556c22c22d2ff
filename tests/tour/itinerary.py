"""Every request of the tour, in its order: all of Kafka Connect's endpoints, asked well and badly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SOURCE = "/connectors/MirrorSourceConnector"
CHECKPOINT = "/connectors/MirrorCheckpointConnector"
HEARTBEAT = "/connectors/MirrorHeartbeatConnector"
NONE = "/connectors/none"
CONNECTORS = (SOURCE, CHECKPOINT, HEARTBEAT)
PLUGIN = "/connector-plugins/MirrorSourceConnector/config"
CLASSES = "org.apache.kafka.connect.mirror."
LOGGER = "/admin/loggers/tour.of.loggers"


@dataclass(frozen=True)
class Step:
    """One request; both sides must have come to the state that is awaited before it."""

    name: str
    method: str
    path: str
    content: str | None = None
    is_free: bool = False  # the answer is a map whose keys are no part of its shape
    awaited: tuple[str, str] | None = None  # a connector and its state
    content_type: str = "application/json"


@dataclass(frozen=True)
class Traveller:
    """What one side must be told under names of its own."""

    alias: str
    topic: str
    config: Mapping[str, str]  # of the source connector

    def place(self, **changes: Any) -> dict[str, Any]:
        """The first partition of the topic, or something like it."""
        return {"cluster": self.alias, "partition": 0, "topic": self.topic, **changes}


def steps(one: Traveller) -> Iterator[Step]:
    """The whole tour."""
    yield from _looks()
    yield from _strangers()
    yield from _wrong_methods()
    yield from _creations(one)
    yield from _settings(one)
    yield from _states()
    yield from _positions_while_running(one)
    yield from _positions(one)
    yield from _plugins(one)
    yield from _loggers()
    yield from _arrivals_and_departures(one)


def _get(path: str, name: str = "", **more: Any) -> Step:
    return Step(name or f"GET {path}", "GET", path, **more)


def _send(method: str, path: str, body: Any, name: str, **more: Any) -> Step:
    return Step(name, method, path, json.dumps(body), **more)


def _looks() -> Iterator[Step]:
    yield _get("/", awaited=(SOURCE, "RUNNING"))
    yield _get("/health", awaited=(CHECKPOINT, "RUNNING"))
    yield _get("/connectors", awaited=(HEARTBEAT, "RUNNING"))
    yield _get("/connectors/")
    for wanted in ("status", "info", "nonsense"):
        yield _get(f"/connectors?expand={wanted}")
    yield _get("/connectors?expand=status&expand=info")
    for path in CONNECTORS:
        yield _get(path)
        yield _get(f"{path}/config", is_free=True)
        for noun in ("status", "tasks", "tasks/0/status", "offsets", "topics"):
            yield _get(f"{path}/{noun}")
    yield _get(f"{SOURCE}/tasks/99/status")
    yield _get(f"{SOURCE}/tasks/x/status")
    yield _get(f"{SOURCE}/tasks-config")


def _strangers() -> Iterator[Step]:
    yield _get(NONE)
    for noun in ("config", "status", "tasks", "tasks/0/status", "offsets", "topics", "nothing"):
        yield _get(f"{NONE}/{noun}", is_free=noun == "config")
    yield _get("/nothing")
    yield _get("/connectors/a-%3Eb.MirrorSourceConnector")
    for verb in ("pause", "resume", "stop", "topics/reset"):
        yield Step(f"{verb} of a stranger", "PUT", f"{NONE}/{verb}")
    for verb in ("restart", "restart?includeTasks=true", "tasks/0/restart"):
        yield Step(f"{verb} of a stranger", "POST", f"{NONE}/{verb}")
    yield Step("restart of a task that is not there", "POST", f"{SOURCE}/tasks/99/restart")
    yield Step("deletion of a stranger", "DELETE", NONE)
    yield Step("reset of a stranger", "DELETE", f"{NONE}/offsets")
    yield _send("PATCH", f"{NONE}/config", {"tasks.max": "2"}, "patch of a stranger")
    body = {"offsets": [{"partition": {"topic": "t"}, "offset": None}]}
    yield _send("PATCH", f"{NONE}/offsets", body, "positions of a stranger")


def _wrong_methods() -> Iterator[Step]:
    paths = {
        "/connectors": ("DELETE", "PUT", "PATCH"),
        SOURCE: ("POST", "PUT"),
        f"{SOURCE}/config": ("POST", "DELETE"),
        f"{SOURCE}/status": ("POST", "PUT"),
        f"{SOURCE}/pause": ("GET", "POST"),
        f"{SOURCE}/restart": ("GET", "PUT"),
        f"{SOURCE}/offsets": ("POST", "PUT"),
        "/admin/loggers": ("POST", "DELETE"),
        LOGGER: ("POST", "DELETE"),
        "/connector-plugins": ("POST",),
    }
    for path, methods in paths.items():
        for method in methods:
            yield Step(f"{method} {path}", method, path)


def _creations(one: Traveller) -> Iterator[Step]:
    def create(body: Any, name: str) -> Step:
        return _send("POST", "/connectors", body, f"creation {name}")

    yield create({"name": "MirrorSourceConnector", "config": one.config}, "of what is there")
    yield create({"name": "x", "config": {"name": "y"}}, "under two names")
    yield create({"name": "x"}, "without settings")
    yield create({}, "without anything")
    yield create([], "by a list")
    yield Step("creation by bad JSON", "POST", "/connectors", "{bad")
    yield Step("creation without a body", "POST", "/connectors", "")
    yield Step("creation by a text", "POST", "/connectors", "{}", content_type="text/plain")
    yield _send("PUT", f"{NONE}/config", {}, "creation by PUT without a class")


def _settings(one: Traveller) -> Iterator[Step]:
    path = f"{SOURCE}/config"
    yield Step("settings of bad JSON", "PUT", path, "{bad")
    yield Step("settings without a body", "PUT", path, "")
    yield _send("PUT", path, [], "settings in a list")
    yield _send("PUT", path, {}, "settings without a class")
    yield _send("PUT", path, {**one.config, "topics": ["a"]}, "settings with a list inside")
    yield _send("PUT", path, {**one.config, "name": "other"}, "settings under another name")
    yield _send("PUT", path, {**one.config, "tasks.max": "many", "replication.factor": "x"}, "settings that cannot be")
    yield _send("PUT", path, {**one.config, "tasks.max": 1, "sync.topic.acls.enabled": False}, "settings")
    yield _send("PATCH", path, {"tasks.max": "2"}, "patch", awaited=(SOURCE, "RUNNING"))
    yield _send("PATCH", path, {"sync.topic.acls.enabled": None}, "patch that removes", awaited=(SOURCE, "RUNNING"))
    yield _send("PATCH", path, {}, "empty patch", awaited=(SOURCE, "RUNNING"))
    yield _send("PATCH", path, {"tasks.max": "many"}, "patch that cannot be")
    yield Step("patch of bad JSON", "PATCH", path, "{bad")
    yield _send("PATCH", path, {"name": "other"}, "patch of the name")
    yield _send("PATCH", path, {"name": "MirrorSourceConnector"}, "patch with the name")


def _states() -> Iterator[Step]:
    running = (SOURCE, "RUNNING")
    yield Step("pause", "PUT", f"{SOURCE}/pause", awaited=running)
    yield _get(f"{SOURCE}/status", "status of a paused one", awaited=(SOURCE, "PAUSED"))
    yield Step("pause of a paused one", "PUT", f"{SOURCE}/pause")
    yield Step("resume", "PUT", f"{SOURCE}/resume")
    yield Step("resume of a running one", "PUT", f"{SOURCE}/resume", awaited=running)
    yield Step("restart", "POST", f"{SOURCE}/restart", awaited=running)
    for query in ("includeTasks=true", "onlyFailed=true", "includeTasks=true&onlyFailed=true", "includeTasks=maybe"):
        yield Step(f"restart?{query}", "POST", f"{SOURCE}/restart?{query}", awaited=running)
    yield Step("restart of a task", "POST", f"{SOURCE}/tasks/0/restart", awaited=running)
    yield Step("topics/reset", "PUT", f"{SOURCE}/topics/reset", awaited=running)
    yield _get(f"{SOURCE}/topics", "topics after a reset")


def _positions_while_running(one: Traveller) -> Iterator[Step]:
    body = {"offsets": [{"partition": one.place(), "offset": {"offset": 1}}]}
    yield _send("PATCH", f"{SOURCE}/offsets", body, "positions of a running one", awaited=(SOURCE, "RUNNING"))
    yield Step("reset of a running one", "DELETE", f"{SOURCE}/offsets")


def _positions(one: Traveller) -> Iterator[Step]:
    stopped = (SOURCE, "STOPPED")
    yield Step("stop", "PUT", f"{SOURCE}/stop")
    for noun in ("", "/status", "/tasks", "/tasks/0/status", "/offsets"):
        yield _get(f"{SOURCE}{noun}", f"{noun or 'look'} of a stopped one", awaited=stopped)
    yield Step("positions of bad JSON", "PATCH", f"{SOURCE}/offsets", "{bad")
    yield Step("positions without a body", "PATCH", f"{SOURCE}/offsets", "")
    for name, body in _bodies_of_positions().items():
        yield _send("PATCH", f"{SOURCE}/offsets", body, f"positions: {name}")
    for name, (place, offset) in _bad_positions(one).items():
        body = {"offsets": [{"partition": place, "offset": offset}]}
        yield _send("PATCH", f"{SOURCE}/offsets", body, f"position: {name}")
    for name, offset in {"a good one": {"offset": 1}, "none": None}.items():
        body = {"offsets": [{"partition": one.place(), "offset": offset}]}
        yield _send("PATCH", f"{SOURCE}/offsets", body, f"position: {name}")
    rubbish = {"offsets": [{"partition": {"what": "ever"}, "offset": None}]}
    yield _send("PATCH", f"{SOURCE}/offsets", rubbish, "position: none of anything")
    yield Step("reset", "DELETE", f"{SOURCE}/offsets")
    yield _get(f"{SOURCE}/offsets", "positions after a reset")
    yield Step("reset of nothing", "DELETE", f"{SOURCE}/offsets")
    yield Step("resume of a stopped one", "PUT", f"{SOURCE}/resume")
    yield from _positions_of_others(one)
    yield _get(f"{SOURCE}/status", "status of a resumed one", awaited=(SOURCE, "RUNNING"))


def _bodies_of_positions() -> dict[str, Any]:
    return {
        "nothing": {},
        "an empty list": {"offsets": []},
        "null": {"offsets": None},
        "a map": {"offsets": {}},
        "a strange key": {"x": 1},
    }


def _bad_positions(one: Traveller) -> dict[str, tuple[Any, Any]]:
    offset = {"offset": 1}
    return {
        "negative": (one.place(), {"offset": -1}),
        "a text": (one.place(), {"offset": "1"}),
        "a fraction": (one.place(), {"offset": 1.5}),
        "empty": (one.place(), {}),
        "a number": (one.place(), 5),
        "of nothing": (None, offset),
        "of a text": ("x", offset),
        "of partition -1": (one.place(partition=-1), offset),
        "of partition '0'": (one.place(partition="0"), offset),
        "of a partition beyond all": (one.place(partition=99_999_999_999), offset),
        "of topic 5": (one.place(topic=5), offset),
        "without a cluster": ({"topic": "t", "partition": 0}, offset),
        "without a topic": ({"cluster": "c", "partition": 0}, offset),
        "without a partition": ({"cluster": "c", "topic": "t"}, offset),
    }


def _positions_of_others(one: Traveller) -> Iterator[Step]:
    pair = {"sourceClusterAlias": one.alias, "targetClusterAlias": "backup"}
    group = {"group": "g", "topic": "t", "partition": 0}
    cases = {
        "of a pair": (HEARTBEAT, pair, 0),
        "1 of a pair": (HEARTBEAT, pair, 1),
        "of half a pair": (HEARTBEAT, {"sourceClusterAlias": one.alias}, 0),
        "of a group": (CHECKPOINT, group, 0),
        "1 of a group": (CHECKPOINT, group, 1),
        "of no group": (CHECKPOINT, {"topic": "t", "partition": 0}, 0),
    }
    for path in (HEARTBEAT, CHECKPOINT):
        yield Step(f"stop of {path}", "PUT", f"{path}/stop")
    for name, (path, place, offset) in cases.items():
        body = {"offsets": [{"partition": place, "offset": {"offset": offset}}]}
        yield _send("PATCH", f"{path}/offsets", body, f"position {name}", awaited=(path, "STOPPED"))
    for path in (HEARTBEAT, CHECKPOINT):
        yield _get(f"{path}/offsets", f"positions of {path}")
        yield Step(f"resume of {path}", "PUT", f"{path}/resume")


def _plugins(one: Traveller) -> Iterator[Step]:
    yield _get("/connector-plugins")
    yield _get("/connector-plugins?connectorsOnly=false")
    yield _get("/connector-plugins?connectorsOnly=x")
    for name in (
        "MirrorSourceConnector",
        "MirrorSource",
        f"{CLASSES}MirrorCheckpointConnector",
        "none",
        "mirrorsource",
    ):
        yield _get(f"/connector-plugins/{name}/config")
    yield _get(f"{PLUGIN}?version=9.9")
    wrong = {"tasks.max": "many", "offset-syncs.topic.location": "moon", "sync.topic.acls.enabled": "perhaps"}
    validations = {
        "of good settings": one.config,
        "of wrong settings": {**one.config, **wrong},
        "of a class alone": {"connector.class": f"{CLASSES}MirrorSourceConnector"},
        "of another class": {"connector.class": f"{CLASSES}MirrorHeartbeatConnector"},
        "of no class": {},
        "of a list": [],
    }
    for name, body in validations.items():
        yield _send("PUT", f"{PLUGIN}/validate", body, f"validation {name}")
    yield Step("validation of bad JSON", "PUT", f"{PLUGIN}/validate", "{bad")
    yield Step("validation without a body", "PUT", f"{PLUGIN}/validate", "")
    none = {"connector.class": "none"}
    yield _send("PUT", "/connector-plugins/none/config/validate", none, "validation by a stranger")


def _loggers() -> Iterator[Step]:
    yield _get("/admin/loggers/root")
    yield _get("/admin/loggers/none.such")
    for level in ("DEBUG", "info", "TRACE", "FATAL", "OFF", "ALL", "loud", None, 5):
        yield _send("PUT", LOGGER, {"level": level}, f"level {level}")
    yield _send("PUT", LOGGER, {}, "no level")
    yield Step("level of bad JSON", "PUT", LOGGER, "{bad")
    yield Step("level without a body", "PUT", LOGGER, "")
    yield _get(LOGGER)
    for scope in ("worker", "cluster", "strange"):
        yield _send("PUT", f"{LOGGER}?scope={scope}", {"level": "WARN"}, f"level in scope {scope}")
    yield _get("/admin/loggers", is_free=True)  # last: now both sides have loggers that were changed, and others


def _arrivals_and_departures(one: Traveller) -> Iterator[Step]:
    """Last of all: from here on the two sides are not alike any more."""

    def heartbeats(name: str) -> dict[str, str]:
        return {**one.config, "name": name, "connector.class": f"{CLASSES}MirrorHeartbeatConnector"}

    yield _send("POST", "/connectors", {"name": "second", "config": heartbeats("second")}, "creation")
    yield _send("PUT", "/connectors/third/config", heartbeats("third"), "creation by PUT")
    yield Step("deletion", "DELETE", HEARTBEAT)
