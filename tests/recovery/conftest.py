"""One mirror for all moves between clusters, with a flow for each kind of move; one cluster that may be killed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.outages import SOON_MISSED, bring_back
from tests.recovery.move_stage import AT_LEAST_ONCE, ONE_LANE, SAME_NAMES, MoveStage, share


@pytest.fixture(scope="package")
def _doomed() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("doomed", settings=SOON_MISSED)) as (cluster,):
        yield cluster


@pytest.fixture
def doomed(_doomed: EmbeddedCluster) -> EmbeddedCluster:
    """A cluster whose broker may be killed; it runs when a test begins."""
    bring_back(_doomed)
    return _doomed


@pytest.fixture(scope="package")
def moves(
    primary: EmbeddedCluster,
    backup: EmbeddedCluster,
    _doomed: EmbeddedCluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, MoveStage]:
    """All flows of the mirror, by what they are for. They share nothing but the clusters."""
    folder = tmp_path_factory.mktemp("moves")
    bring_back(_doomed)
    stages = {
        "aliases": MoveStage(primary, backup, folder, ONE_LANE),
        "same names": MoveStage(primary, backup, folder, SAME_NAMES, both_ways=True),
        "switchover": MoveStage(primary, backup, folder),
        "at least once": MoveStage(primary, backup, folder, {**AT_LEAST_ONCE, **ONE_LANE}),
        "doomed": MoveStage(_doomed, backup, folder),
    }
    share(folder / "mm2.properties", list(stages.values()))
    return stages


@pytest.fixture(scope="package")
def mirror(moves: Mapping[str, MoveStage]) -> Iterator[MirrorProcess]:
    """`heliograph run` of all these flows. No test ends it."""
    file = moves["aliases"].file
    process = MirrorProcess(file, file.with_name("mirror.log"))
    try:
        yield process
        assert process.stop() == 0, process.log_text()[-3000:]
    finally:
        process.kill()


@pytest.fixture
def stage(request: pytest.FixtureRequest, moves: Mapping[str, MoveStage], mirror: MirrorProcess) -> MoveStage:
    """One of the flows, open, with groups that have not been moved yet."""
    moves[request.param].begin_anew()
    return moves[request.param]
