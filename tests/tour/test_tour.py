"""Real Kafka Connect and Heliograph get the same requests, and must answer alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.stage import write_settings
from tests.conformance.site import Site
from tests.tour.connect_worker import ConnectWorker
from tests.tour.itinerary import CLASSES, CONNECTORS, SOURCE, Step, Traveller, steps
from tests.tour.shape import Shape
from tests.waiting import wait_until
from tests.zoo.topics import create_topic, fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.oracle]

_PATIENCE = 60
_MOMENTARILY = ("rebalance", "just starting")  # in the message of a 409 that passes


@dataclass(frozen=True)
class Difference:
    """An answer that is another one on purpose: both codes, and why."""

    theirs: int
    ours: int
    reason: str


_CLIENT_S_MISTAKE = "a mistake in the request is told as one, not as a failure of the server"
_UNKNOWN = "a connector that is not there has no topics"
_FILE = "the file decides which connectors there are, and which one is which"


def _mistakes(*names: str) -> dict[str, Difference]:
    return {name: Difference(500, 400, _CLIENT_S_MISTAKE) for name in names}


_DIFFERENCES = {
    **_mistakes(
        "creation without settings", "creation without anything", "creation by a list", "creation by bad JSON",
        "creation without a body",
        "settings of bad JSON", "settings without a body", "settings in a list", "settings with a list inside",
        "patch of bad JSON",
        "positions of bad JSON", "positions without a body", "positions: a map", "positions: a strange key",
        "position: negative", "position: a text", "position: a fraction", "position: empty", "position: a number",
        "position: of nothing", "position: of a text", "position: of partition -1", "position: of partition '0'",
        "position: of a partition beyond all", "position: of topic 5", "position: without a cluster",
        "position: without a topic", "position: without a partition",
        "position 1 of a pair", "position of half a pair", "position 1 of a group", "position of no group",
        "validation of no class", "validation of a list", "validation of bad JSON", "validation without a body",
        "validation by a stranger",
        "level of bad JSON", "level without a body",
    ),
    "GET /connectors/none/topics": Difference(200, 404, _UNKNOWN),
    "topics/reset of a stranger": Difference(202, 404, _UNKNOWN),
    "patch of the name": Difference(200, 400, _FILE),
    "deletion": Difference(204, 405, _FILE),
    "creation": Difference(201, 405, _FILE),
    "creation by PUT": Difference(201, 405, _FILE),
}  # fmt: skip


@dataclass(frozen=True)
class Side:
    """One of the two that are asked."""

    client: httpx.Client
    traveller: Traveller

    def take(self, step: Step) -> httpx.Response:
        """Ask, once the awaited state is there; what cannot be done just now is tried again."""
        if step.awaited is not None:
            self.wait_for(*step.awaited)
        found: list[httpx.Response] = []

        def is_answered() -> bool:
            found[:] = [self._ask(step)]
            return found[0].status_code != 409 or not any(text in found[0].text for text in _MOMENTARILY)

        wait_until(is_answered, f"an answer to {step.name}", _PATIENCE, 0.5)
        return found[0]

    def wait_for(self, path: str, state: str) -> None:
        """Wait for a connector and its tasks, of which a stopped one has none."""

        def is_there() -> bool:
            answer = self.client.get(f"{path}/status")
            if answer.status_code != 200:
                return False
            status = answer.json()
            tasks = [task["state"] for task in status["tasks"]]
            return status["connector"]["state"] == state and set(tasks) == ({state} - {"STOPPED"})

        wait_until(is_there, f"{path} being {state}", _PATIENCE, 0.1)

    def _ask(self, step: Step) -> httpx.Response:
        headers = {} if step.content is None else {"Content-Type": step.content_type}
        return self.client.request(step.method, step.path, content=step.content, headers=headers)


@pytest.fixture(scope="module")
def sides(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """Kafka Connect with MirrorMaker 2's connectors, and Heliograph, on the same clusters."""
    topic = fresh_name("tour")
    create_topic(primary.bootstrap_servers, topic, 2)
    site = Site("primary", primary.bootstrap_servers)
    site.produce(topic, 10, [0, 1])
    site.commit(f"group-of-{topic}", topic, {0: 5, 1: 5})
    with (
        _connect(primary, backup, tmp_path_factory.mktemp("connect"), topic) as theirs,
        _heliograph(primary, backup, tmp_path_factory.mktemp("heliograph"), topic) as ours,
    ):
        yield theirs, ours


def _options(topic: str) -> dict[str, str]:
    factors = ("offset-syncs", "checkpoints", "heartbeats")
    return {
        "topics": topic,
        "groups": f"group-of-{topic}",
        "tasks.max": "2",
        "replication.factor": "1",
        **{f"{name}.topic.replication.factor": "1" for name in factors},
        "emit.checkpoints.interval.seconds": "1",
        "refresh.topics.interval.seconds": "5",
        "refresh.groups.interval.seconds": "5",
    }


@contextmanager
def _connect(source: EmbeddedCluster, target: EmbeddedCluster, folder: Path, topic: str) -> Iterator[Side]:
    config = {
        "source.cluster.alias": "theirs",
        "target.cluster.alias": "backup",
        "source.cluster.bootstrap.servers": source.bootstrap_servers,
        "target.cluster.bootstrap.servers": target.bootstrap_servers,
        **_options(topic),
    }
    with (
        ConnectWorker(target.bootstrap_servers, folder) as worker,
        httpx.Client(base_url=worker.url, timeout=90) as client,
    ):
        for path in CONNECTORS:
            name = path.rpartition("/")[2]
            body = {"name": name, "config": {**config, "connector.class": CLASSES + name}}
            client.post("/connectors", json=body).raise_for_status()
        yield Side(client, Traveller("theirs", topic, client.get(f"{SOURCE}/config").json()))


@contextmanager
def _heliograph(source: EmbeddedCluster, target: EmbeddedCluster, folder: Path, topic: str) -> Iterator[Side]:
    file = folder / "mm2.properties"
    flow = "ours->backup"
    options = {**_options(topic), f"{flow}.emit.heartbeats.enabled": "true", "config.storage.replication.factor": "1"}
    write_settings(file, {"ours": source, "backup": target}, [flow], options)
    mirror = RunningMirror(load(file))
    server = RestServer(mirror, ["http://127.0.0.1:0"])
    mirror.start()
    try:
        server.start()
        with httpx.Client(base_url=server.addresses[0], timeout=90) as client:
            yield Side(client, Traveller("ours", topic, client.get(f"{SOURCE}/config").json()))
    finally:
        server.stop()
        mirror.stop()


def test_the_answers_are_alike_but_for_what_differs_on_purpose(sides: tuple[Side, Side]) -> None:
    theirs, ours = sides
    faults: list[str] = []
    taken: set[str] = set()
    for their_step, our_step in zip(steps(theirs.traveller), steps(ours.traveller), strict=True):
        assert our_step.name not in taken
        taken.add(our_step.name)
        answers = theirs.take(their_step), ours.take(our_step)
        faults += [f"{our_step.name}: {fault}" for fault in _faults(our_step, *answers)]
    assert not faults, "\n" + "\n".join(faults)
    assert taken >= _DIFFERENCES.keys()


def _faults(step: Step, theirs: httpx.Response, ours: httpx.Response) -> list[str]:
    """Codes that are not as they should be; shapes too, unless only one side refuses."""
    codes = theirs.status_code, ours.status_code
    expected = _DIFFERENCES.get(step.name)
    if expected is None and codes[0] != codes[1]:
        return [f"codes {codes}: {theirs.text[:300]} and {ours.text[:300]}"]
    if expected is not None and codes != (expected.theirs, expected.ours):
        return [f"codes {codes}, not {expected.theirs, expected.ours}: {theirs.text[:300]} and {ours.text[:300]}"]
    if theirs.is_success != ours.is_success:
        return [] if ours.json().keys() == {"error_code", "message"} else [f"no error body: {ours.text[:300]}"]
    return _shape(step, ours).differences(_shape(step, theirs))


def _shape(step: Step, answer: httpx.Response) -> Shape:
    is_free = step.is_free and answer.is_success
    return Shape().add(answer.json(), is_free) if answer.content else Shape({"nothing"})
