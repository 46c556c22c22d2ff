"""What all tests share: two real clusters, chance that can be had again, and what is kept when a test fails."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import hypothesis.core
import pytest
from kafka.net.inet import KafkaNetSocket

from heliograph.embedded.cluster import KEEP_LOGS
from tests.running import Tell, durations, seeds, sharing
from tests.running.evidence import Evidence

if TYPE_CHECKING:
    from xdist.remote import Producer

    from heliograph.embedded.cluster import EmbeddedCluster

_OUTPUT = Path(__file__).parents[1] / ".heliograph"
_MEMORY = Path("/dev/shm")
_MEMORY_NEEDED = 6 * 1024**3
_TOLD = "told"
_evidence = pytest.StashKey[Evidence]()
_scratch = pytest.StashKey[Path]()
_shared_clusters = pytest.StashKey[Sequence["EmbeddedCluster"]]()
_seconds: dict[str, float] = defaultdict(float)


class DroppedSocket(socket.socket):
    """A socket that may be forgotten without a warning."""

    def __del__(self) -> None:
        self.close()


# -- the run -----------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """One seed for everything random, Hypothesis included; files of clusters and mirrors in memory."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput"):
        sharing.yield_to_others(config.workerinput)
    # Of its own accord Hypothesis tries the same examples each time where CI is set; how long one takes says nothing.
    hypothesis.settings.register_profile(
        "heliograph",
        derandomize=False,
        database=None,
        print_blob=True,
        deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("heliograph")
    if config.getoption("--hypothesis-seed") is None:
        hypothesis.core.global_force_seed = seeds.choose()
    # A client of kafka-python that is closed while it connects forgets the socket, which ends at once; Python warns of
    # it in whatever test runs then. Our own sockets must not be forgotten: of those it goes on to warn.
    KafkaNetSocket.socket = lambda _, *kind: DroppedSocket(*kind)
    if KEEP_LOGS not in os.environ:
        config.stash[_scratch] = _new_scratch()
        os.environ[KEEP_LOGS] = str(config.stash[_scratch] / "brokers")
    config.stash[_evidence] = Evidence(_OUTPUT / "evidence", Path(os.environ[KEEP_LOGS]))


def _new_scratch() -> Path:
    """A folder for temporary files of this run and its workers."""
    is_roomy = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _MEMORY_NEEDED
    scratch = Path(tempfile.mkdtemp(prefix="heliograph-tests-", dir=_MEMORY if is_roomy else None))
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
    return scratch


def pytest_unconfigure(config: pytest.Config) -> None:
    """What failed tests leave was copied to where it stays."""
    if _scratch in config.stash:
        shutil.rmtree(config.stash[_scratch], ignore_errors=True)


def pytest_report_header() -> str:
    """How to have the same chance again."""
    return f"seed: {seeds.choose()} ({seeds.replay()} before the command brings it back)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers begin with what takes longest; a run without workers keeps the order of the files."""
    if hasattr(config, "workerinput"):
        sharing.dearest_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> sharing.Sharing:
    """Tests that share clusters or mirrors run in one worker."""
    return sharing.Sharing(config, log)


# -- what is told and kept of each test --------------------------------------------------------------------


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Logs from before are no evidence."""
    item.config.stash[_evidence].test_begins(item.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """The next group of tests finds the shared clusters as the first one did.

    Brokers, and mirrors that look for topics, take longer the more of them there are.
    """
    yield
    if nextitem is not None and sharing.group_of(item.nodeid) != sharing.group_of(nextitem.nodeid):
        for cluster in item.config.stash.get(_shared_clusters, ()):
            _delete_topics(cluster)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure says where its logs are, and how to have it again."""
    report = yield
    if report.failed:
        temporary = item.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        folder = item.config.stash[_evidence].collect(f"{item.nodeid}-{report.when}", temporary)
        again = f"{seeds.replay()} ./test '{item.nodeid}'"
        (folder / "again.txt").write_text(f"{again}\n")
        report.sections.append(("evidence", f"logs: {folder}\nagain: {again}"))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what each test takes, with what it has set up and torn down."""
    _seconds[report.nodeid] += report.duration


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have told, also those that passed; and where it is written how long they took."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    told = [f"{report.nodeid}: {line}" for report in reports for name, line in report.user_properties if name == _TOLD]
    if told:
        terminalreporter.section("told by tests")
        for line in told:
            terminalreporter.write_line(line)
    durations.write(_OUTPUT / "durations.json", _seconds)
    terminalreporter.write_line(f"durations: {_OUTPUT / 'durations.json'}")


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    """Takes a line about this test that is shown at the end of the run, also when the test passes."""

    def say(line: str) -> None:
        print(line)
        request.node.user_properties.append((_TOLD, line))

    return say


@pytest.fixture
def chance(tell: Tell) -> random.Random:
    """Another course of events in each run; the environment variable HELIOGRAPH_SEED brings one back."""
    seed = seeds.choose()
    tell(f"seed {seed}")
    return random.Random(seed)


# -- clusters ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def cluster_pair(pytestconfig: pytest.Config) -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Two clusters of one broker each. They are shared: a test uses topic names of its own."""
    from heliograph.embedded.broker_archive import prepare_broker_archive
    from heliograph.embedded.cluster import ClusterSpec, running_clusters
    from heliograph.engine.class_archive import archive_option

    prepare_broker_archive()
    archive_option()  # made once in a clone: no test shall count it as time that a mirror takes to start
    # Many tests fetch: with the usual thousand sessions the broker would refuse to remember those of later ones.
    settings = {"max.incremental.fetch.session.cache.slots": "100000"}
    specs = [ClusterSpec(alias, settings=settings) for alias in ("primary", "backup")]
    with running_clusters(*specs) as (primary, backup):
        pytestconfig.stash[_shared_clusters] = (primary, backup)
        yield primary, backup
        del pytestconfig.stash[_shared_clusters]


def _delete_topics(cluster: EmbeddedCluster) -> None:
    """All that tests have made; what Kafka keeps for itself stays."""
    from tests.chaos.stage import admin_of

    with admin_of(cluster) as admin:
        admin.delete_topics([name for name in admin.topics() if not name.startswith("__")])


@pytest.fixture(scope="session")
def primary(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """The cluster that tests mirror from."""
    return cluster_pair[0]


@pytest.fixture(scope="session")
def backup(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> EmbeddedCluster:
    """The cluster that tests mirror to."""
    return cluster_pair[1]
