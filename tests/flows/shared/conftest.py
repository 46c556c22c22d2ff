"""One mirror for all tests that neither stop it nor harm a cluster: a flow or two for each of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import write_settings
from tests.flows.shared import both_ways, discovery
from tests.flows.transform_stage import OPTIONS, TransformStage

_TRANSFORMED = "transformed(options, topics=('orders',), classes=''): the flow that a test has in the shared mirror"

_START_SECONDS = 240  # not measured: it starts many flows at once, perhaps on a busy machine


def pytest_configure(config: pytest.Config) -> None:
    """Tests of transforms say beside their code what their flow does."""
    config.addinivalue_line("markers", _TRANSFORMED)


@dataclass(frozen=True)
class SharedMirror:
    """A mirror at work, and the flows with transforms by the tests that they belong to."""

    process: MirrorProcess
    log: Path
    stages: Mapping[str, TransformStage]


@pytest.fixture(scope="package")
def shared_mirror(
    primary: EmbeddedCluster,
    backup: EmbeddedCluster,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[SharedMirror]:
    """At work before most of what it mirrors exists; it ends in good order."""
    folder = tmp_path_factory.mktemp("flows")
    stages = _stages(request.session.items, (primary, backup), folder)
    pairs = [both_ways.ALIASES, discovery.ALIASES]
    clusters = {alias: cluster for pair in pairs for alias, cluster in zip(pair, (primary, backup), strict=True)}
    flows = [f"{one}->{two}" for pair in pairs for one, two in (pair, pair[::-1])]
    options = {**OPTIONS, **both_ways.OPTIONS, **discovery.OPTIONS}
    for stage in stages.values():
        clusters |= stage.clusters
        flows.append(stage.name)
        options |= stage.options
    file, log = folder / "mm2.properties", folder / "mirror.log"
    write_settings(file, clusters, flows, options)
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    discovery.create_first(primary, backup)
    mirror = MirrorProcess(file, log, options=["--once"], environment=environment)
    try:
        discovery.await_first(primary, backup, _START_SECONDS)
        yield SharedMirror(mirror, log, stages)
        assert mirror.stop() == 0, mirror.log_text()[-3000:]
    finally:
        mirror.kill()


def _stages(
    tests: list[pytest.Item], clusters: tuple[EmbeddedCluster, EmbeddedCluster], folder: Path
) -> dict[str, TransformStage]:
    """Of those tests only that are to be run; modules with classes of their own lie where the mirror finds them."""
    made = {}
    for test in tests:
        if wanted := test.get_closest_marker("transformed"):
            topics = wanted.kwargs.get("topics", ("orders",))
            made[test.nodeid] = TransformStage(*clusters, folder / f"stage-{len(made)}", *wanted.args, topics)
            if classes := wanted.kwargs.get("classes"):
                (folder / "our_transforms.py").write_text(classes)
    return made


@pytest.fixture
def stage(shared_mirror: SharedMirror, request: pytest.FixtureRequest) -> TransformStage:
    """The flow with transforms of one test, in the mirror that all share."""
    return shared_mirror.stages[request.node.nodeid]
